import type { Tokens } from '../../engines/engine.ts'
import { isOwnAnswer } from './answers.ts'
import type { AnswerEntry, Entry } from './entry.ts'

/** What a conversation has taken. */
export interface Taken {
  readonly turns: number
  readonly tokens: Tokens
  /** Undefined where nobody knows what the model costs. */
  readonly costUsd: number | undefined
}

const NOTHING: Taken = {
  turns: 0,
  tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  costUsd: undefined,
}

/** What is behind the last word about it. */
export function takenSince(entries: readonly Entry[]): Taken {
  const told = entries.findLastIndex(({ type }) => type === 'end')
  return entries.slice(told + 1).reduce((taken, entry) => {
    return isOwnAnswer(entry) ? addTaken(taken, entry) : taken
  }, NOTHING)
}

export function addTaken(taken: Taken, { tokens, costUsd }: AnswerEntry): Taken {
  const add = (kind: keyof Tokens) => taken.tokens[kind] + (tokens?.[kind] ?? 0)
  const cost = costUsd === undefined ? taken.costUsd : (taken.costUsd ?? 0) + costUsd
  return {
    turns: taken.turns + 1,
    tokens: {
      input: add('input'),
      output: add('output'),
      cacheRead: add('cacheRead'),
      cacheWrite: add('cacheWrite'),
    },
    costUsd: cost,
  }
}
