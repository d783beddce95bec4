import { formatMoney, formatTokens } from '../../base/amounts.ts'
import { afterAwake, awakeMs } from '../../base/awake.ts'
import { formatDuration } from '../../base/durations.ts'
import { UserError } from '../../base/errors.ts'
import type { BudgetSpent, End, Spent, Usage } from '../../records/events/schema.ts'
import { countTokens, NOTHING_SPENT } from '../../records/events/spent.ts'
import {
  areParallel,
  isDone as isDoneIn,
  spend,
  stepAt,
  type RunState,
} from '../../records/events/state.ts'
import type { TokensLeft } from '../../engines/native/io.ts'
import { DEFAULT_PARALLEL, type Plan, type StepNode } from '../../chain/plan/plan.ts'
import type { Budget } from '../../chain/plan/policy.ts'
import { endBy, groupBudgets, isUsedUp, leftOver, limitsOf, tightest } from './budget.ts'
import { groupKeys, keyOf } from '../../records/events/tree.ts'
import type { Place } from '../place.ts'

/** Who shares the remaining money. */
interface Sharing {
  /** How many agents start now, including this one. */
  readonly sharers?: number
  /** Whether the agent may queue tasks; if so, another share is kept for them. */
  readonly mayQueue?: boolean
}

/** The allowance of one turn of an agent. */
interface Allowance {
  /** Aborts, with a `BudgetSpent` as its reason, when nothing is left. */
  readonly spent: AbortSignal
  update(usage: Usage | undefined): void
  /** Undefined if there is no limit. */
  tokensLeft(): TokensLeft | undefined
  close(): void
}

/** What one agent takes from the budgets, starting when it gets a share. */
interface Turn {
  readonly step: StepNode
  readonly isTask: boolean
  /** The cost limit that the agent was given. */
  readonly reservedUsd?: number | undefined
  /** Whether that was less than everything left. */
  readonly isShare: boolean
  /** Its time limit, the budget it comes from, and its deadline by `awakeMs()`. */
  readonly time?: {
    readonly of: Account['of']
    readonly ms: number
    /** How much of the limit was used before. */
    readonly usedMs: number
    readonly end: number
  }
  readonly spent: AbortController
  usage?: Usage | undefined
  /** Tokens of the latest answer. */
  lastTokens?: number
  /** Cost of the latest report: of one answer of the built-in agent, of all the work of a coding CLI. */
  lastUsd?: number
  isOver?: boolean
}

/** A budget, the turns that spend from it, and what was spent according to the events. */
interface Account {
  readonly of: 'the task' | 'the step' | 'the group' | 'the run'
  readonly turns: readonly Turn[]
  readonly budget: Budget
  readonly spent: Spent
}

/** Nothing is left for an agent that is about to start. */
export class BudgetError extends UserError {}

/** The budgets of a run, including usage by running agents that the events do not contain yet. */
export class Spending {
  readonly #plan: Plan
  readonly #state: () => RunState
  readonly #turns = new Map<string, Turn>()

  constructor(plan: Plan, state: () => RunState) {
    this.#plan = plan
    this.#state = state
  }

  /** How the step (or, without one, the run) ends if a budget is used up at this time. */
  spentBudget(step?: StepNode, now?: number): End | undefined {
    return endBy(this.#limits(step, now).find(isUsedUp))
  }

  /** The same for an agent that reports its money as spent, possibly slightly early. */
  spentMoney(step: StepNode): End | undefined {
    const end = endBy(tightest(this.#limits(step), 'costUsd'))
    const tasks = [...this.#turns.values()].filter((turn) => turn.isTask && !isDone(turn))
    const isReserved = tasks.some((task) => stillReserved(task) >= LEAST_USD)
    if (end === undefined || !isReserved) return end
    return { ...end, detail: `${end.detail}; the rest is reserved for running tasks` }
  }

  /** A warning if spending exceeded a budget of money or tokens. */
  overspent(step: StepNode): string | undefined {
    const limits = this.#limits(step)
    return endBy(limits.find(({ kind, used, limit }) => kind !== 'ms' && used > limit))?.detail
  }

  /** What the budgets leave; an absent field means no limit. */
  left(step: StepNode): Budget {
    return leftOver(this.#limits(step))
  }

  /**
   * Reserves a share for an agent that is about to start. Costs are known only afterwards, so money is divided
   * among the agents that start now. Tokens and time are not divided.
   */
  reserve(step: StepNode, place: Place, sharing: Sharing = {}): Omit<Budget, 'ms'> {
    const { costUsd, ms: _, ...left } = this.left(step)
    const key = turnKey(place.scope)
    const isTask = place.task !== undefined
    // Programs get no cost limit and report no cost.
    const reportsCost = step.agent.engine !== 'binary'
    const rest = costUsd === undefined ? Infinity : this.#unreserved(costUsd, key)
    const sharers = isTask ? 1 : this.#countSharers(step)
    const share = Math.min(
      shareOf(rest, { sharers, ...sharing }),
      step.taskBudget?.costUsd ?? Infinity,
    )
    if (isTask && reportsCost && share < LEAST_USD) throw nothingLeft(costUsd ?? share)
    const limit = share === Infinity ? {} : { costUsd: share }
    const reservedUsd = reportsCost ? limit.costUsd : undefined
    const isShare =
      reservedUsd !== undefined && rest !== Infinity && rest - reservedUsd >= LEAST_USD
    const spent = new AbortController()
    this.#turns.set(key, { step, isTask, reservedUsd, isShare, spent, ...this.#timeFor(step) })
    return { ...left, ...limit }
  }

  /** Opens the allowance of an agent whose share `reserve` returned. */
  open({ scope }: Place): Allowance {
    const turn = this.#turns.get(turnKey(scope))!
    const { time } = turn
    const cancel = time && afterAwake(time.end - awakeMs(), () => this.#endTime(turn, time))
    return {
      spent: turn.spent.signal,
      update: (usage) => {
        const more = tokensIn(usage) - tokensIn(turn.usage)
        if (more > 0) turn.lastTokens = more
        const dearer = (usage?.costUsd ?? 0) - (turn.usage?.costUsd ?? 0)
        if (dearer > 0) turn.lastUsd = dearer
        turn.usage = usage
        this.#endSpent(turn)
      },
      tokensLeft: () => {
        const all = this.#accounts(turn).flatMap((each) => tokensFor(each, turn))
        return all.toSorted((one, other) => one.left - other.left)[0]
      },
      close: () => {
        turn.isOver = true
        cancel?.()
      },
    }
  }

  /** Whether any money is left for an agent that has used up its share. */
  hasMore({ scope }: Place): boolean {
    const key = turnKey(scope)
    const turn = this.#turns.get(key)
    if (turn?.isShare !== true) return false
    const { costUsd = 0 } = this.left(turn.step)
    return this.#unreserved(costUsd, key) >= leastFor(turn)
  }

  /** Call once the events contain this agent's usage. */
  recorded(scope: readonly string[]): void {
    this.#turns.delete(turnKey(scope))
  }

  #limits(step: StepNode | undefined, now?: number): ReturnType<typeof limitsOf> {
    let state = this.#state()
    for (const { step: at, usage } of this.#turns.values()) {
      if (usage !== undefined) state = spend(state, stepAt(state, at), usage, false)
    }
    return limitsOf(step, this.#plan, state, now)
  }

  /** How many agents that may run in parallel still have no share, including this one. */
  #countSharers(step: StepNode): number {
    const state = this.#state()
    const key = keyOf(step)
    const turns = [...this.#turns.values()].filter(({ isTask }) => !isTask)
    const busy = new Set(turns.map((turn) => keyOf(turn.step)))
    const others = state.steps.filter(
      (each) => !busy.has(each.key) && areParallel(state, key, each.key) && !isDoneIn(state, each),
    )
    const free = (this.#plan.maxParallel ?? DEFAULT_PARALLEL) - busy.size
    return Math.max(1, Math.min(others.length + 1, free))
  }

  /** The clock starts now, even before the agent starts. */
  #timeFor(step: StepNode): Pick<Turn, 'time'> {
    const { ms: own = Infinity } = step.taskBudget ?? {}
    const shared = tightest(this.#limits(step), 'ms')
    const rest = shared === undefined ? Infinity : Math.max(0, shared.limit - shared.used)
    const ms = Math.min(own, rest)
    if (ms === Infinity) return {}
    const isOwn = own < rest
    const usedMs = isOwn ? 0 : shared!.used
    return { time: { of: isOwn ? 'the task' : shared!.of, ms, usedMs, end: awakeMs() + ms } }
  }

  /**
   * Ends all turns that share the budget at the same moment. Otherwise an agent could see its tasks end, and
   * finish before its own time is up.
   */
  #endTime(turn: Turn, own: NonNullable<Turn['time']>): void {
    const { of } = own
    const sharers = this.#accounts(turn).find((account) => account.of === of)!.turns
    for (const { spent, time } of sharers) spent.abort(timeSpent(time ?? own))
  }

  /** What is left, minus reservations for running agents. */
  #unreserved(costUsd: number, key: string): number {
    const others = [...this.#turns].filter(([other, turn]) => other !== key && !isDone(turn))
    const reserved = others.reduce((sum, [, turn]) => sum + stillReserved(turn), 0)
    return Math.max(0, costUsd - reserved)
  }

  /** The budgets of a turn: its own, its step's and the run's. */
  #accounts(turn: Turn): Account[] {
    const { step } = turn
    const state = this.#state()
    const all = [...this.#turns.values()]
    const own = all.filter((each) => keyOf(each.step) === keyOf(step))
    const stepSpent = stepAt(state, step).spent
    return [
      { of: 'the task', turns: [turn], budget: step.taskBudget ?? {}, spent: NOTHING_SPENT },
      { of: 'the step', turns: own, budget: step.policy.budget, spent: stepSpent },
      ...groupBudgets(step, this.#plan, state).map(({ key, ...account }) => ({
        of: 'the group' as const,
        turns: all.filter((each) => groupKeys(each.step).includes(key)),
        ...account,
      })),
      { of: 'the run', turns: all, budget: this.#plan.budget, spent: state.spent },
    ]
  }

  /** Ends all turns of a budget that is used up. */
  #endSpent(turn: Turn): void {
    for (const { turns, budget, spent } of this.#accounts(turn)) {
      const { tokens = Infinity, costUsd = Infinity } = budget
      const used = turns.reduce((sum, { usage }) => sum + tokensIn(usage), 0)
      const usedUsd = turns.reduce((sum, { usage }) => sum + (usage?.costUsd ?? 0), 0)
      const [allUsed, allUsd] = [used + countTokens(spent), usedUsd + spent.costUsd]
      for (const each of turns) {
        if (used > 0 && allUsed > tokens && !(each.isTask && isDone(each)))
          each.spent.abort({
            limit: 'tokens',
            error: `${formatTokens(allUsed)} of ${formatTokens(tokens)} tokens`,
          } satisfies BudgetSpent)
        if (usedUsd > 0 && allUsd >= costUsd && !isDone(each))
          each.spent.abort({
            limit: 'cost',
            error: `${formatMoney(allUsd)} of ${formatMoney(costUsd)}`,
          } satisfies BudgetSpent)
      }
    }
  }
}

function timeSpent({ ms, usedMs }: NonNullable<Turn['time']>): BudgetSpent {
  // Less than this is just the time that the run took to start.
  return usedMs < 1000
    ? { limit: 'time', error: `no time left after ${formatDuration(ms)}` }
    : timeOver(ms)
}

/** For a limit that was partly used before. */
export function timeOver(ms: number): BudgetSpent {
  return { limit: 'time', error: `the remaining ${formatDuration(ms)} ran out` }
}

/** One answer for the work, and one to report the results. */
const TURNS_TO_END = 2

function tokensFor({ turns, budget, spent }: Account, turn: Turn): TokensLeft[] {
  const { tokens: limit } = budget
  if (limit === undefined) return []
  const used = turns.reduce((sum, { usage }) => sum + tokensIn(usage), countTokens(spent))
  const others = turns.filter((each) => each !== turn && each.isOver !== true)
  const needed = others.reduce((sum, { lastTokens = 0 }) => sum + TURNS_TO_END * lastTokens, 0)
  return [{ left: Math.max(0, limit - used - needed), used, limit }]
}

function tokensIn({ tokens }: Usage = {}): number {
  return tokens === undefined ? 0 : countTokens({ tokens })
}

/** `claude` counts in cents and cannot do anything with less. */
const LEAST_USD = 0.01

/** With less, an agent could not do anything useful. */
function leastFor({ step, lastUsd = 0 }: Turn): number {
  return step.agent.engine === 'native' ? Math.max(LEAST_USD, TURNS_TO_END * lastUsd) : LEAST_USD
}

/** Rounded down to cents, so that all shares together do not exceed the rest. */
function shareOf(rest: number, { sharers = 1, mayQueue = false }: Sharing): number {
  const inCents = (share: number) => Math.floor(Number((share * 100).toPrecision(12))) / 100
  const leaving = mayQueue ? inCents(rest / (sharers + 1)) : 0
  const share = leaving >= LEAST_USD ? leaving : inCents(rest / sharers)
  return share >= LEAST_USD ? share : rest / sharers
}

function nothingLeft(rest: number): BudgetError {
  return new BudgetError(
    `budget: the remaining ${formatMoney(rest)} is reserved for other agents, or is less than a cent`,
  )
}

/** The reservation minus the usage reported so far. */
function stillReserved({ reservedUsd = 0, usage }: Turn): number {
  return Math.max(0, reservedUsd - (usage?.costUsd ?? 0))
}

/**
 * A coding CLI reports its cost at the end, when the work is paid for and should not be discarded. The built-in
 * agent reports it with every answer.
 */
function isDone({ step, usage, isOver = false }: Turn): boolean {
  return step.agent.engine === 'native' ? isOver : usage?.costUsd !== undefined
}

function turnKey(scope: readonly string[]): string {
  return scope.join('/')
}
