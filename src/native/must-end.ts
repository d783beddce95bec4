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
  const { costUsd: cost = 0, tokens } = taken
  if (left.costUsd !== undefined && cost + 2 * lastCost > left.costUsd) {
    return `${moneyWords(cost)} of ${moneyWords(left.costUsd)}`
  }
  const used = countTokens({ tokens })
  const last = lastTokens === undefined ? 0 : countTokens({ tokens: lastTokens })
  if (left.tokens !== undefined && used + 2 * last > left.tokens) {
    return `${tokenWords(used)} of ${tokenWords(left.tokens)} tokens`
  }
  return undefined
}
