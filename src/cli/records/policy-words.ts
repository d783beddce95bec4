import type { Budget, OnFail, Policy } from '../../plan/policy.ts'
import { moneyWords, tokenWords } from '../../base/amounts.ts'
import { durationWords } from '../../base/durations.ts'

/**
 * The gates and limits that somebody has set for a step or a chain. A recorded plan may be of another version, so
 * nothing in it is relied on.
 */
export function policyWords(policy: Partial<Policy>): string[] {
  const { verify = [], until, when, budget = {}, onFail } = policy
  return [
    ...(when === undefined ? [] : [`when: ${when}`]),
    ...verify.map((command) => `verify: ${command}`),
    ...(until === undefined ? [] : [`until: ${until}`]),
    ...budgetWords(budget),
    ...(onFail === undefined ? [] : failWords(onFail)),
  ]
}

/** `budget: $5.00, 1.0M tokens, 2 h 00 min`. */
function budgetWords({ costUsd, tokens, ms }: Budget): string[] {
  const parts = [
    ...(costUsd === undefined ? [] : [moneyWords(costUsd)]),
    ...(tokens === undefined ? [] : [`${tokenWords(tokens)} tokens`]),
    ...(ms === undefined ? [] : [durationWords(ms)]),
  ]
  return parts.length === 0 ? [] : [`budget: ${parts.join(', ')}`]
}

function failWords(onFail: OnFail): string[] {
  switch (onFail.kind) {
    case 'goto':
      return [`on failure: back to step ${onFail.step}, at most ${onFail.times} times`]
    case 'run':
      return [`on failure: recovery ${onFail.step}`]
    case 'continue':
      return ['on failure: the run goes on']
    case 'stop':
      return []
  }
}
