import { withoutSkips } from '../base/awake.ts'
import { durationWords } from '../base/durations.ts'
import { moneyWords, tokenWords } from '../base/amounts.ts'
import type { End, Spent } from '../events/schema.ts'
import { countTokens } from '../events/spent.ts'
import { stepAt, type RunState } from '../events/state.ts'
import type { Plan, StepNode } from '../plan/plan.ts'
import type { Budget } from '../plan/policy.ts'

/** A budget, what it is the budget of, and what has been spent of it. */
interface Account {
  readonly of: 'the step' | 'the run'
  readonly budget: Budget
  readonly spent: Spent
}

/** The clock of the state stands still between events. */
function withTime(spent: Spent, { clock, skippedMs = 0 }: RunState, now: number): Spent {
  const since = clock === undefined ? 0 : Math.max(0, now - (clock - skippedMs))
  return { ...spent, ms: spent.ms + since }
}

function runAccount({ budget }: Plan, state: RunState, now: number): Account {
  return { of: 'the run', budget, spent: withTime(state.spent, state, now) }
}

/** Most steps have none to keep, and nothing to count. */
export function hasBudget({ policy }: StepNode, plan: Plan): boolean {
  return [policy.budget, plan.budget].some(
    ({ costUsd, tokens, ms }) => (costUsd ?? tokens ?? ms) !== undefined,
  )
}

/** The budgets that a step has to keep, its own and that of the run. */
function accounts(step: StepNode, plan: Plan, state: RunState, now: number): Account[] {
  if (!hasBudget(step, plan)) return []
  const spent = withTime(stepAt(state, step.number).spent, state, now)
  return [{ of: 'the step', budget: step.policy.budget, spent }, runAccount(plan, state, now)]
}

/** Why nothing more may be started, where a budget is spent. */
export function spentBudget(
  step: StepNode,
  plan: Plan,
  state: RunState,
  now = withoutSkips(),
): End | undefined {
  return firstSpent(accounts(step, plan, state, now))
}

/** The same for the run alone. */
export function spentRunBudget(plan: Plan, state: RunState, now = withoutSkips()): End | undefined {
  return firstSpent([runAccount(plan, state, now)])
}

/** The same where more was used than there was. */
export function overspentBudget(step: StepNode, plan: Plan, state: RunState): End | undefined {
  const isOver = ({ budget, spent }: Account) =>
    spent.costUsd > (budget.costUsd ?? Infinity) || countTokens(spent) > (budget.tokens ?? Infinity)
  return firstSpent(accounts(step, plan, state, withoutSkips()).filter(isOver))
}

/** The same for the money that an agent could not stay within; undefined: none of our budgets limits it. */
export function spentMoney(step: StepNode, plan: Plan, state: RunState): End | undefined {
  const limited = accounts(step, plan, state, withoutSkips()).flatMap(({ of, budget, spent }) =>
    budget.costUsd === undefined ? [] : [{ of, limit: budget.costUsd, spent: spent.costUsd }],
  )
  const [least] = limited.toSorted((a, b) => a.limit - a.spent - (b.limit - b.spent))
  if (least === undefined) return undefined
  const words = `${moneyWords(least.spent)} of ${moneyWords(least.limit)}`
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
    return `${moneyWords(spent.costUsd)} of ${moneyWords(costUsd)}`
  if (tokens !== undefined && countTokens(spent) >= tokens)
    return `${tokenWords(countTokens(spent))} of ${tokenWords(tokens)} tokens`
  if (ms !== undefined && spent.ms >= ms)
    return `${durationWords(spent.ms)} of ${durationWords(ms)}`
  return undefined
}

/** How much time is left for the next iteration, and of which budget; undefined: as much as it likes. */
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

/** What is left for the next iteration; absent: as much as it likes. */
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
