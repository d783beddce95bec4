import { counted, formatMoney, formatTokens } from '../base/amounts.ts'
import { formatDuration } from '../base/durations.ts'
import { wrapWords, type Layout } from './layout.ts'
import { API_EQUIVALENT, shortId } from './runs.ts'
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

export function renderCost(
  by: string,
  rows: readonly CostRow[],
  total: CostRow,
  layout: Layout,
): string[] {
  const shown = rows.length > 1 ? [...rows, total] : rows
  if (layout.width !== undefined) return renderForTerminal(by, shown, total, layout)
  const hasTasks = total.tasks > 0
  const head = ['iterations', ...(hasTasks ? ['tasks'] : []), ...HEAD]
  const right = head.map((_, index) => index + 1)
  const cells = shown.map((row) => [
    row.key,
    formatCount(row.iterations),
    ...(hasTasks ? [String(row.tasks)] : []),
    ...tokensOf(row),
    formatDuration(row.ms),
    row.costUsd === 0 ? '-' : formatMoney(row.costUsd),
    payer(row),
  ])
  return [...renderTable([[by, ...head], ...cells], { right, layout }), ...notes(total, layout)]
}

/** With all kinds of cached tokens in one column, so that a row fits into 80 columns. */
function renderForTerminal(
  by: string,
  rows: readonly CostRow[],
  total: CostRow,
  layout: Layout,
): string[] {
  const keys = rows.map(({ key }) => key)
  const keyOf = (key: string) => (by === 'run' ? shortId(key, keys) : key)
  const cells = rows.map((row) => {
    const { input, output, cacheRead, cacheWrite } = row.tokens
    const star = row.subscriptionUsd > 0 ? '*' : ''
    return [
      row === total ? { text: row.key, look: 'bold' as const } : keyOf(row.key),
      formatCount(row.iterations),
      row.tasks === 0 ? '' : String(row.tasks),
      ...[input, output, cacheRead + cacheWrite].map((count) =>
        count === 0 ? '' : formatTokens(count),
      ),
      formatDuration(row.ms),
      row.costUsd === 0 ? '' : `${formatMoney(row.costUsd)}${star}`,
    ]
  })
  const head = [by, 'iterations', 'tasks', 'input', 'output', 'cached', 'time', 'cost']
  const right = head.keys().drop(1).toArray()
  return [...renderTable(cells, { head, right, flexible: 0, layout }), ...notes(total, layout)]
}

function formatCount(iterations: number): string {
  return String(Number(iterations.toFixed(2)))
}

function tokensOf({ tokens }: CostRow): string[] {
  const { input, output, cacheRead, cacheWrite } = tokens
  return [input, output, cacheRead, cacheWrite].map(formatTokens)
}

function payer({ costUsd, subscriptionUsd }: CostRow): string {
  if (subscriptionUsd === 0) return ''
  return subscriptionUsd >= costUsd
    ? 'API-equivalent'
    : `${formatMoney(subscriptionUsd)} of it API-equivalent`
}

function notes({ untold, tasks, subscriptionUsd }: CostRow, layout: Layout): string[] {
  const what = tasks === 0 ? 'iteration' : untold === 1 ? 'iteration or task' : 'iterations or task'
  const star = layout.width === undefined ? '' : '* '
  const texts = [
    ...(untold > 0 ? [`${counted(untold, what)} did not report a cost.`] : []),
    ...(subscriptionUsd > 0 ? [`${star}${API_EQUIVALENT}`] : []),
  ]
  return texts.length === 0 ? [] : ['', ...texts.flatMap((text) => wrapWords(text, layout))]
}
