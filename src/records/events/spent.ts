import type { Spent, Usage } from './schema.ts'

export const NOTHING_SPENT: Spent = {
  ms: 0,
  costUsd: 0,
  tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  iterations: 0,
}

export function addTime(spent: Spent, ms: number): Spent {
  return { ...spent, ms: spent.ms + ms }
}

/** Adds the usage of an iteration, even if the iteration itself does not count. */
export function addUsage(spent: Spent, usage: Usage | undefined, isCounted: boolean): Spent {
  const { tokens, costUsd = 0, billing = spent.billing } = usage ?? {}
  return {
    ms: spent.ms,
    costUsd: spent.costUsd + costUsd,
    tokens: {
      input: spent.tokens.input + (tokens?.input ?? 0),
      output: spent.tokens.output + (tokens?.output ?? 0),
      cacheRead: spent.tokens.cacheRead + (tokens?.cacheRead ?? 0),
      cacheWrite: spent.tokens.cacheWrite + (tokens?.cacheWrite ?? 0),
    },
    iterations: spent.iterations + Number(isCounted),
    ...(billing === undefined ? {} : { billing }),
  }
}

/** The sum of all kinds of tokens. */
export function countTokens({ tokens }: Pick<Spent, 'tokens'>): number {
  return tokens.input + tokens.output + tokens.cacheRead + tokens.cacheWrite
}
