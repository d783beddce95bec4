import { counted, formatMoney, formatTokens } from '../base/amounts.ts'
import { formatDuration } from '../base/durations.ts'
import { renderTable } from './table.ts'

/** Usage of one group, such as a run or a model. */
export interface CostRow {
  readonly key: string
  readonly iterations: number
  readonly tasks: number
  /** Number of iterations and tasks that did not report a cost. */
  readonly untold: number
  readonly tokens: {
    readonly input: number
    readonly output: number
    readonly cacheRead: number
    readonly cacheWrite: number
  }
  readonly costUsd: number
  /** The part that a subscription covers. */
  readonly subscriptionUsd: number
  /** Sum for all agents, including those that ran in parallel. */
  readonly ms: number
}

const HEAD = ['input', 'output', 'cache read', 'cache write', 'time', 'cost']

export function renderCost(by: string, rows: readonly CostRow[], total: CostRow): string[] {
  const shown = rows.length > 1 ? [...rows, total] : rows
  const hasTasks = total.tasks > 0
  const head = ['iterations', ...(hasTasks ? ['tasks'] : []), ...HEAD]
  const right = head.map((_, index) => index + 1)
  const lines = renderTable([[by, ...head], ...shown.map((row) => cells(row, hasTasks))], { right })
  return [...lines, ...notes(total)]
}

function cells(row: CostRow, hasTasks: boolean): string[] {
  const { input, output, cacheRead, cacheWrite } = row.tokens
  return [
    row.key,
    String(Number(row.iterations.toFixed(2))),
    ...(hasTasks ? [String(row.tasks)] : []),
    ...[input, output, cacheRead, cacheWrite].map(formatTokens),
    formatDuration(row.ms),
    row.costUsd === 0 ? '-' : formatMoney(row.costUsd),
    payer(row),
  ]
}

function payer({ costUsd, subscriptionUsd }: CostRow): string {
  if (subscriptionUsd === 0) return ''
  return subscriptionUsd >= costUsd
    ? 'API-equivalent'
    : `${formatMoney(subscriptionUsd)} of it API-equivalent`
}

function notes({ untold, tasks, subscriptionUsd }: CostRow): string[] {
  const what = tasks === 0 ? 'iteration' : untold === 1 ? 'iteration or task' : 'iterations or task'
  const texts = [
    ...(untold > 0 ? [`${counted(untold, what)} did not report a cost.`] : []),
    ...(subscriptionUsd > 0
      ? ['API-equivalent: what the API would have charged; a subscription covers it.']
      : []),
  ]
  return texts.length === 0 ? [] : ['', ...texts]
}
