import { printable } from '../base/printable.ts'
import { counted, moneyWords, tokenWords } from '../base/amounts.ts'
import { durationWords } from '../base/durations.ts'
import { renderTable } from './table.ts'

/** What belongs together took in all. */
export interface CostRow {
  readonly key: string
  readonly iterations: number
  /** Those that sub-agents have done. */
  readonly tasks: number
  /** How many of both did not tell what they cost. */
  readonly untold: number
  readonly tokens: {
    readonly input: number
    readonly output: number
    readonly cacheRead: number
    readonly cacheWrite: number
  }
  readonly costUsd: number
  /** The part that a subscription pays. */
  readonly subscriptionUsd: number
  /** Of all agents together, also of those that worked side by side. */
  readonly ms: number
}

const HEAD = ['input', 'output', 'cache read', 'cache write', 'time', 'cost']

export function renderCost(by: string, rows: readonly CostRow[], total: CostRow): string[] {
  const shown = rows.length > 1 ? [...rows, total] : rows
  const hasTasks = total.tasks > 0
  const head = ['iterations', ...(hasTasks ? ['tasks'] : []), ...HEAD]
  const numbers = new Set(head.map((_, index) => index + 1))
  const lines = renderTable([[by, ...head], ...shown.map((row) => cells(row, hasTasks))], numbers)
  return [...lines, ...notes(total)]
}

function cells(row: CostRow, hasTasks: boolean): string[] {
  const { input, output, cacheRead, cacheWrite } = row.tokens
  return [
    printable(row.key),
    String(Number(row.iterations.toFixed(2))),
    ...(hasTasks ? [String(row.tasks)] : []),
    ...[input, output, cacheRead, cacheWrite].map(tokenWords),
    durationWords(row.ms),
    row.costUsd === 0 ? '-' : moneyWords(row.costUsd),
    payer(row),
  ]
}

function payer({ costUsd, subscriptionUsd }: CostRow): string {
  if (subscriptionUsd === 0) return ''
  return subscriptionUsd >= costUsd
    ? 'API-equivalent'
    : `${moneyWords(subscriptionUsd)} of it API-equivalent`
}

function notes({ untold, tasks, subscriptionUsd }: CostRow): string[] {
  const what = tasks === 0 ? 'iteration' : untold === 1 ? 'iteration or task' : 'iterations or task'
  const texts = [
    ...(untold > 0 ? [`Of ${counted(untold, what)} the agent did not tell the cost.`] : []),
    ...(subscriptionUsd > 0
      ? ['API-equivalent: what the API would have taken for what a subscription pays.']
      : []),
  ]
  return texts.length === 0 ? [] : ['', ...texts]
}
