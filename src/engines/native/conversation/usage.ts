import type { Tokens } from '../../engine.ts'
import { isOwnAnswer, type AnswerEntry, type Entry } from './entry.ts'

export interface ConversationUsage {
  readonly turns: number
  readonly tokens: Tokens
  /** Undefined if the price of the model is unknown. */
  readonly costUsd: number | undefined
}

const NOTHING: ConversationUsage = {
  turns: 0,
  tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  costUsd: undefined,
}

/** Usage after the last `end` entry, up to which everything has been reported. */
export function unreportedUsage(entries: readonly Entry[]): ConversationUsage {
  const told = entries.findLastIndex(({ type }) => type === 'end')
  return entries.slice(told + 1).reduce((usage, entry) => {
    return isOwnAnswer(entry) ? addAnswer(usage, entry) : usage
  }, NOTHING)
}

export function addAnswer(usage: ConversationUsage, answer: AnswerEntry): ConversationUsage {
  const { tokens = NOTHING.tokens, costUsd } = answer
  const cost = costUsd === undefined ? usage.costUsd : (usage.costUsd ?? 0) + costUsd
  return { turns: usage.turns + 1, tokens: addTokens(usage.tokens, tokens), costUsd: cost }
}

export function addTokens(one: Tokens, other: Tokens): Tokens {
  return {
    input: one.input + other.input,
    output: one.output + other.output,
    cacheRead: one.cacheRead + other.cacheRead,
    cacheWrite: one.cacheWrite + other.cacheWrite,
  }
}
