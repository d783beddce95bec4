import { afterAwake, withoutSkips } from '../../base/awake.ts'
import { formatDuration } from '../../base/durations.ts'
import { formatMoney, formatTokens } from '../../base/amounts.ts'
import type { End, Spent } from '../../records/events/schema.ts'
import { countTokens } from '../../records/events/spent.ts'
import { stepAt, type RunState } from '../../records/events/state.ts'
import type { Plan, StepNode } from '../../chain/plan/plan.ts'
import type { Budget } from '../../chain/plan/policy.ts'

/** A budget and what has been spent of it. */
interface Account {
  readonly of: 'the step' | 'the run'
  readonly budget: Budget
  readonly spent: Spent
}

/** Adds the time since the last event, which the state does not contain. */
function withTime(spent: Spent, { clock, skippedMs = 0 }: RunState, now: number): Spent {
  const since = clock === undefined ? 0 : Math.max(0, now - (clock - skippedMs))
  return { ...spent, ms: spent.ms + since }
}

function runAccount({ budget }: Plan, state: RunState, now: number): Account {
  return { of: 'the run', budget, spent: withTime(state.spent, state, now) }
}

export function hasBudget({ policy }: StepNode, plan: Plan): boolean {
  return [policy.budget, plan.budget].some(
    ({ costUsd, tokens, ms }) => (costUsd ?? tokens ?? ms) !== undefined,
  )
}

/** The budget of the step and that of the run. */
function accounts(step: StepNode, plan: Plan, state: RunState, now: number): Account[] {
  if (!hasBudget(step, plan)) return []
  const spent = withTime(stepAt(state, step.number).spent, state, now)
  return [{ of: 'the step', budget: step.policy.budget, spent }, runAccount(plan, state, now)]
}

/** The end of the step if one of its budgets is spent. */
export function spentBudget(
  step: StepNode,
  plan: Plan,
  state: RunState,
  now = withoutSkips(),
): End | undefined {
  return firstSpent(accounts(step, plan, state, now))
}

/** The end of the run if its budget is spent. */
export function spentRunBudget(plan: Plan, state: RunState, now = withoutSkips()): End | undefined {
  return firstSpent([runAccount(plan, state, now)])
}

/** The end of the step if more was spent than one of its budgets allows. */
export function overspentBudget(step: StepNode, plan: Plan, state: RunState): End | undefined {
  const isOver = ({ budget, spent }: Account) =>
    spent.costUsd > (budget.costUsd ?? Infinity) || countTokens(spent) > (budget.tokens ?? Infinity)
  return firstSpent(accounts(step, plan, state, withoutSkips()).filter(isOver))
}

/** The end of a step whose agent reports its money as spent; undefined if no budget limits it. */
export function spentMoney(step: StepNode, plan: Plan, state: RunState): End | undefined {
  const limited = accounts(step, plan, state, withoutSkips()).flatMap(({ of, budget, spent }) =>
    budget.costUsd === undefined ? [] : [{ of, limit: budget.costUsd, spent: spent.costUsd }],
  )
  const [least] = limited.toSorted((a, b) => a.limit - a.spent - (b.limit - b.spent))
  if (least === undefined) return undefined
  const words = `${formatMoney(least.spent)} of ${formatMoney(least.limit)}`
  return { reason: 'budget', detail: `budget of ${least.of} spent: ${words}` }
}

function firstSpent(all: readonly Account[]): End | undefined {
  for (const { of, budget, spent } of all) {
    const words = overspent(budget, spent)
    if (words !== undefined) return { reason: 'budget', detail: `budget of ${of} spent: ${words}` }
  }
  return undefined
}

function overspent({ costUsd, tokens, ms }: Budget, spent: Spent): string | undefined {
  if (costUsd !== undefined && spent.costUsd >= costUsd)
    return `${formatMoney(spent.costUsd)} of ${formatMoney(costUsd)}`
  if (tokens !== undefined && countTokens(spent) >= tokens)
    return `${formatTokens(countTokens(spent))} of ${formatTokens(tokens)} tokens`
  if (ms !== undefined && spent.ms >= ms)
    return `${formatDuration(spent.ms)} of ${formatDuration(ms)}`
  return undefined
}

/** The time left for the next iteration, and by which budget; undefined if there is no limit. */
export function timeLeft(
  step: StepNode,
  plan: Plan,
  state: RunState,
  now = withoutSkips(),
): { readonly of: Account['of']; readonly ms: number } | undefined {
  const rests = accounts(step, plan, state, now).flatMap(({ of, budget, spent }) =>
    budget.ms === undefined ? [] : [{ of, ms: Math.max(0, budget.ms - spent.ms) }],
  )
  return rests.toSorted((one, other) => one.ms - other.ms)[0]
}

/** What is left for the next iteration; an absent field means no limit. */
export function leftOver(
  step: StepNode,
  plan: Plan,
  state: RunState,
  now = withoutSkips(),
): Budget {
  const all = accounts(step, plan, state, now)
  if (all.length === 0) return {}
  const least = (pick: (budget: Budget) => number | undefined, used: (spent: Spent) => number) => {
    const rests = all.flatMap(({ budget, spent }) => {
      const limit = pick(budget)
      return limit === undefined ? [] : [Math.max(0, limit - used(spent))]
    })
    return rests.length === 0 ? undefined : Math.min(...rests)
  }
  const costUsd = least(
    (budget) => budget.costUsd,
    (spent) => spent.costUsd,
  )
  const tokens = least((budget) => budget.tokens, countTokens)
  const ms = timeLeft(step, plan, state, now)?.ms
  return {
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(tokens === undefined ? {} : { tokens }),
    ...(ms === undefined ? {} : { ms }),
  }
}

export function timeOver(ms: number): string {
  return `no time left after another ${formatDuration(ms)}`
}

/** Calls back once the time that a budget leaves is over; returns a function that cancels this. */
export function watchTime(ms: number | undefined, onOver: (detail: string) => void): () => void {
  return ms === undefined ? () => undefined : afterAwake(ms, () => onOver(timeOver(ms)))
}
