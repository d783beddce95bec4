import { printable } from '../base/printable.ts'
import { counted, moneyWords, tokenWords } from '../base/amounts.ts'
import { durationWords } from '../base/durations.ts'
import { renderTable } from './table.ts'

/** What belongs together took in all. */
export interface CostRow {
  readonly key: string
  readonly iterations: number
  /** How many of them did not tell what they cost. */
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
  readonly ms: number
}

const HEAD = ['iterations', 'input', 'output', 'cache read', 'cache write', 'time', 'cost']
const NUMBERS = new Set(HEAD.map((_, index) => index + 1))

export function renderCost(by: string, rows: readonly CostRow[], total: CostRow): string[] {
  const shown = rows.length > 1 ? [...rows, total] : rows
  const lines = renderTable([[by, ...HEAD], ...shown.map(cells)], NUMBERS)
  return [...lines, ...notes(total)]
}

function cells(row: CostRow): string[] {
  const { input, output, cacheRead, cacheWrite } = row.tokens
  return [
    printable(row.key),
    String(Number(row.iterations.toFixed(2))),
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

function notes({ untold, subscriptionUsd }: CostRow): string[] {
  const texts = [
    ...(untold > 0 ? [`Of ${counted(untold, 'iteration')} the agent did not tell the cost.`] : []),
    ...(subscriptionUsd > 0
      ? ['API-equivalent: what the API would have taken for what a subscription pays.']
      : []),
  ]
  return texts.length === 0 ? [] : ['', ...texts]
}
