import type { Budget, OnFail, Policy } from '../../chain/plan/policy.ts'
import { formatMoney, formatTokens } from '../../base/amounts.ts'
import { formatDuration } from '../../base/durations.ts'

/** The gates and limits of a step or a chain; all optional, because another version may have made the plan. */
export function describePolicy(policy: Partial<Policy>): string[] {
  const { verify = [], until, when, budget = {}, onFail } = policy
  return [
    ...(when === undefined ? [] : [`when: ${when}`]),
    ...verify.map((command) => `verify: ${command}`),
    ...(until === undefined ? [] : [`until: ${until}`]),
    ...describeBudget(budget),
    ...(onFail === undefined ? [] : describeOnFail(onFail)),
  ]
}

/** `budget: $5.00, 1.0M tokens, 2 h 00 min`. */
function describeBudget({ costUsd, tokens, ms }: Budget): string[] {
  const parts = [
    ...(costUsd === undefined ? [] : [formatMoney(costUsd)]),
    ...(tokens === undefined ? [] : [`${formatTokens(tokens)} tokens`]),
    ...(ms === undefined ? [] : [formatDuration(ms)]),
  ]
  return parts.length === 0 ? [] : [`budget: ${parts.join(', ')}`]
}

function describeOnFail(onFail: OnFail): string[] {
  switch (onFail.kind) {
    case 'goto':
      return [
        `on failure: go to step ${onFail.step}, at most ${onFail.times === 1 ? 'once' : `${onFail.times} times`}`,
      ]
    case 'run':
      return [`on failure: recovery ${onFail.step}`]
    case 'continue':
      return ['on failure: continue']
    case 'stop':
      return []
  }
}
