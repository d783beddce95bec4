import { formatMoney, formatTokens } from '../../base/amounts.ts'
import { countTokens } from '../../records/events/spent.ts'
import type { History } from './conversation/history.ts'
import type { AgentIo } from './io.ts'

/**
 * Why the next turn must be the last one. Two more turns like the previous one must fit into the
 * budget: one to work, and one for the report.
 */
export function whyStop(
  { usage, lastAnswer }: History,
  { left, spent }: Pick<AgentIo, 'left' | 'spent'>,
): string | undefined {
  if (spent.aborted) return String(spent.reason)
  if (lastAnswer === undefined) return undefined
  const { costUsd: lastCost = 0, tokens: lastTokens } = lastAnswer
  const { costUsd: cost = 0 } = usage
  if (left.costUsd !== undefined && cost + 2 * lastCost > left.costUsd) {
    return `${formatMoney(cost)} of ${formatMoney(left.costUsd)}`
  }
  const last = lastTokens === undefined ? 0 : countTokens({ tokens: lastTokens })
  const rest = left.tokens?.()
  if (rest === undefined || 2 * last <= rest.left) return undefined
  return `${formatTokens(rest.used)} of ${formatTokens(rest.limit)} tokens`
}
