import { formatMoney, formatTokens } from '../../base/amounts.ts'
import { withoutSkips } from '../../base/awake.ts'
import { formatDuration } from '../../base/durations.ts'
import type { End, Spent } from '../../records/events/schema.ts'
import { countTokens, NOTHING_SPENT } from '../../records/events/spent.ts'
import { groupAt, stepAt, type RunState } from '../../records/events/state.ts'
import { groupIdOf, groupKeys } from '../../records/events/tree.ts'
import { groupPolicy, type Plan, type StepNode } from '../../chain/plan/plan.ts'
import type { Budget } from '../../chain/plan/policy.ts'

/** One limit of a budget, and how much of it is used. */
interface Limit {
  readonly of: 'the step' | 'the group' | 'the run'
  readonly kind: keyof Budget
  readonly limit: number
  readonly used: number
}

const CAUSES = { costUsd: 'cost', tokens: 'tokens', ms: 'time' } as const

const FORMATS = {
  costUsd: formatMoney,
  tokens: formatTokens,
  ms: formatDuration,
}

/** The limits of a step, if given, and those of its run. */
export function limitsOf(
  step: StepNode | undefined,
  plan: Plan,
  state: RunState,
  now = withoutSkips(),
): Limit[] {
  const { clock = Infinity, skippedMs = 0 } = state
  // The state covers only the time up to the last event.
  const ms = Math.max(0, now - (clock - skippedMs))
  const limits = (of: Limit['of'], budget: Budget, spent: Spent) => {
    const used = { costUsd: spent.costUsd, tokens: countTokens(spent), ms: spent.ms + ms }
    return (['costUsd', 'tokens', 'ms'] as const).flatMap((kind) => {
      const limit = budget[kind]
      return limit === undefined ? [] : [{ of, kind, limit, used: used[kind] }]
    })
  }
  return [
    ...(step ? limits('the step', step.policy.budget, stepAt(state, step).spent) : []),
    ...groupBudgets(step, plan, state).flatMap(({ budget, spent }) =>
      limits('the group', budget, spent),
    ),
    ...limits('the run', plan.budget, state.spent),
  ]
}

export function groupBudgets(step: StepNode | undefined, plan: Plan, state: RunState) {
  return (step === undefined ? [] : groupKeys(step)).map((key) => ({
    key,
    budget: groupPolicy(plan, groupIdOf(key))?.budget ?? {},
    spent: groupAt(state, key)?.spent ?? NOTHING_SPENT,
  }))
}

/** How a step or run ends when a limit is used up. */
export function endBy(limit: Limit | undefined): End | undefined {
  if (limit === undefined) return undefined
  const format = FORMATS[limit.kind]
  const amounts = `${format(limit.used)} of ${format(limit.limit)}`
  const unit = limit.kind === 'tokens' ? ' tokens' : ''
  const detail = `budget of ${limit.of} spent: ${amounts}${unit}`
  return { reason: 'budget', detail, cause: CAUSES[limit.kind] }
}

export function isUsedUp({ limit, used }: Limit): boolean {
  return used >= limit
}

/** Among the limits of one kind, the one with the least left. */
export function tightest(limits: readonly Limit[], kind: Limit['kind']): Limit | undefined {
  const same = limits.filter((each) => each.kind === kind)
  return same.toSorted((one, other) => restOf(one) - restOf(other))[0]
}

function restOf({ limit, used }: Limit): number {
  return Math.max(0, limit - used)
}

/** The remaining budget for the next iteration; an absent field means no limit. */
export function leftOver(limits: readonly Limit[]): Budget {
  const all = limits.map(({ kind }) => [kind, restOf(tightest(limits, kind)!)])
  return Object.fromEntries(all) as Budget
}
