import { formatMoney, formatTokens } from '../../../base/amounts.ts'
import { estimateTokens } from '../../../base/estimate-tokens.ts'
import { NOT_ENOUGH } from '../../../records/events/describe-outcome.ts'
import type { BudgetSpent } from '../../../records/events/schema.ts'
import { countTokens } from '../../../records/events/spent.ts'
import type { Fact, NativeAgent, Tokens } from '../../engine.ts'
import { costOf, priceOf } from '../../prices.ts'
import type { AgentIo } from '../io.ts'
import type { AnswerEntry, Message } from './entry.ts'
import { addTokens, type History } from './history.ts'

/**
 * Why the next turn must be the last one. Two more turns like the previous one must fit into the
 * budget: one to work, and one for the report.
 */
export function findStopReason(
  { usage, answers }: History,
  { left, spent }: Pick<AgentIo, 'left' | 'spent'>,
): BudgetSpent | undefined {
  if (spent.aborted) return spent.reason as BudgetSpent
  const last = answers.at(-1)
  if (last === undefined) return undefined
  const { costUsd: cost = 0 } = usage
  if (left.costUsd !== undefined && cost + 2 * (last.costUsd ?? 0) > left.costUsd) {
    const error = `${NOT_ENOUGH} (${formatMoney(cost)} of the ${formatMoney(left.costUsd)} for this agent is spent)`
    return { limit: 'cost', error }
  }
  const perTurn = hasTokens(last) ? countTokens(last) : 0
  const rest = left.tokens?.()
  if (rest === undefined || 2 * perTurn <= rest.left) return undefined
  const error = `${NOT_ENOUGH} (${formatTokens(rest.used)} of ${formatTokens(rest.limit)} tokens are used)`
  return { limit: 'tokens', error }
}

/**
 * The usage of a conversation, including a request that was interrupted. That one is an estimate:
 * providers charge for it, but report usage only at the end of an answer.
 */
export function usageWithUnfinished(
  history: History,
  heard: string,
  { model, prices }: NativeAgent,
): Fact {
  const { turns, tokens, costUsd = 0 } = history.usage
  const more = estimate(history, heard)
  const price = priceOf(model, prices)
  const cost = price === undefined ? {} : { costUsd: costUsd + costOf(more, price) }
  return { type: 'usage', turns: turns + 1, tokens: addTokens(tokens, more), ...cost }
}

/** Takes the tokens of the last answer, and estimates what came after it by its bytes. */
function estimate({ head, messages }: History, heard: string): Tokens {
  const last = messages.findLast(hasTokens)
  const later = last === undefined ? messages : messages.slice(messages.indexOf(last) + 1)
  const before = last === undefined ? estimateOf([head.system, head.tools]) : countTokens(last)
  const isCached = last !== undefined && last.tokens.cacheRead + last.tokens.cacheWrite > 0
  return {
    input: estimateOf(later) + (isCached ? 0 : before),
    output: estimateTokens(Buffer.byteLength(heard)),
    cacheRead: isCached ? before : 0,
    cacheWrite: 0,
  }
}

function hasTokens(message: Message): message is AnswerEntry & { readonly tokens: Tokens } {
  return message.type === 'assistant' && message.tokens !== undefined
}

function estimateOf(value: unknown): number {
  return estimateTokens(Buffer.byteLength(JSON.stringify(value)))
}
