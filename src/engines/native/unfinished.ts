import { estimateTokens } from '../../base/estimate-tokens.ts'
import { countTokens } from '../../records/events/spent.ts'
import type { Fact, NativeAgent, Tokens } from '../engine.ts'
import { costOf, priceOf } from '../prices.ts'
import type { AnswerEntry, Message } from './conversation/entry.ts'
import type { History } from './conversation/history.ts'
import { addTokens } from './conversation/usage.ts'

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
  const at = messages.findLastIndex(hasTokens)
  const last = messages[at]
  const known = last !== undefined && hasTokens(last) ? last.tokens : undefined
  const before =
    known === undefined ? estimateOf([head.system, head.tools]) : countTokens({ tokens: known })
  const isCached = known !== undefined && known.cacheRead + known.cacheWrite > 0
  return {
    input: estimateOf(messages.slice(at + 1)) + (isCached ? 0 : before),
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
