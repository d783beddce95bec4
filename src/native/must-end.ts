import { moneyWords, tokenWords } from '../base/amounts.ts'
import { countTokens } from '../events/spent.ts'
import type { History } from './conversation/history.ts'
import type { AgentIo } from './io.ts'

/**
 * Why the next turn has to be the last one. Two more like the last have to fit into the budget: one
 * to work, and one to hand back what there is.
 */
export function mustEnd(
  { taken, lastAnswer }: History,
  { left, spent }: Pick<AgentIo, 'left' | 'spent'>,
): string | undefined {
  if (spent.aborted) return String(spent.reason)
  if (lastAnswer === undefined) return undefined
  const { costUsd: lastCost = 0, tokens: lastTokens } = lastAnswer
  const { costUsd: cost = 0 } = taken
  if (left.costUsd !== undefined && cost + 2 * lastCost > left.costUsd) {
    return `${moneyWords(cost)} of ${moneyWords(left.costUsd)}`
  }
  const last = lastTokens === undefined ? 0 : countTokens({ tokens: lastTokens })
  const rest = left.tokens?.()
  if (rest === undefined || 2 * last <= rest.left) return undefined
  return `${tokenWords(rest.used)} of ${tokenWords(rest.limit)} tokens`
}
