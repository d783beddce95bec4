import { estimateTokens } from '../base/estimate-tokens.ts'
import type { Fact, NativeAgent, Tokens } from '../engines/engine.ts'
import { costOf, priceOf } from '../engines/prices.ts'
import type { AnswerEntry, Message } from './conversation/entry.ts'
import type { History } from './conversation/history.ts'

/**
 * What a conversation has taken, with a request whose answer was broken off: it is paid for, but
 * providers tell at the end what it took, so that this is about so much.
 */
export function usageWithUnfinished(
  history: History,
  heard: string,
  { model, prices }: NativeAgent,
): Fact {
  const { turns, tokens, costUsd = 0 } = history.taken
  const more = estimate(history, heard)
  const price = priceOf(model, prices)
  const cost = price === undefined ? {} : { costUsd: costUsd + costOf(more, price) }
  return { type: 'usage', turns: turns + 1, tokens: sum(tokens, more), ...cost }
}

/** What the last answer was given to is known; what is behind it, and what was heard, is counted by its bytes. */
function estimate({ head, messages }: History, heard: string): Tokens {
  const at = messages.findLastIndex(hasTokens)
  const last = messages[at]
  const known = last !== undefined && hasTokens(last) ? last.tokens : undefined
  const before = known === undefined ? estimateOf([head.system, head.tools]) : totalOf(known)
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

function totalOf({ input, output, cacheRead, cacheWrite }: Tokens): number {
  return input + output + cacheRead + cacheWrite
}

function sum(one: Tokens, other: Tokens): Tokens {
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
  }
}
