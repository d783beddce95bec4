import { formatMoney, formatTokens } from '../../base/amounts.ts'
import { afterAwake, awakeMs } from '../../base/awake.ts'
import { UserError } from '../../base/errors.ts'
import type { End, Spent, Usage } from '../../records/events/schema.ts'
import { countTokens, NOTHING_SPENT } from '../../records/events/spent.ts'
import { spend, stepAt, type RunState } from '../../records/events/state.ts'
import type { TokensLeft } from '../../engines/native/io.ts'
import type { Plan, StepNode } from '../../chain/plan/plan.ts'
import type { Budget } from '../../chain/plan/policy.ts'
import { leftOver, overspentBudget, spentBudget, spentMoney, timeLeft, timeOver } from './budget.ts'
import type { Allowance, Budgets, Sharing } from './context.ts'
import type { Place } from './place.ts'

/** What one agent takes from the budgets, from the moment it gets a share. */
interface Turn {
  readonly step: StepNode
  readonly isTask: boolean
  /** The cost limit that the agent was given. */
  readonly promisedUsd?: number | undefined
  /** Whether that was less than all that is left. */
  readonly isShare: boolean
  /** Its time limit, the budget it comes from, and its end by `awakeMs()`. */
  readonly time?: { readonly of: Account['of']; readonly ms: number; readonly end: number }
  readonly spent: AbortController
  usage?: Usage | undefined
  /** Tokens of the latest answer. */
  lastTokens?: number
  /** Cost of the latest report: of one answer of the built-in agent, of all the work of a coding CLI. */
  lastUsd?: number
  isOver?: boolean
}

/** A budget, the turns that spend from it, and what is spent according to the events. */
interface Account {
  readonly of: 'the task' | 'the step' | 'the run'
  readonly turns: readonly Turn[]
  readonly budget: Budget
  readonly spent: Spent
}

/** Nothing is left for an agent that is about to start. */
export class BudgetError extends UserError {}

/** Tracks budgets while agents work side by side, usage included that is not in the events yet. */
export class Spending implements Budgets {
  readonly #plan: Plan
  readonly #state: () => RunState
  readonly #turns = new Map<string, Turn>()

  constructor(plan: Plan, state: () => RunState) {
    this.#plan = plan
    this.#state = state
  }

  spentBudget(step: StepNode): End | undefined {
    return spentBudget(step, this.#plan, this.#withUntold())
  }

  spentMoney(step: StepNode): End | undefined {
    const end = spentMoney(step, this.#plan, this.#withUntold())
    const tasks = [...this.#turns.values()].filter((turn) => turn.isTask && !isDone(turn))
    const isReserved = tasks.some((task) => stillPromised(task) >= LEAST_USD)
    if (end === undefined || !isReserved) return end
    return { ...end, detail: `${end.detail}; the rest is reserved for running tasks` }
  }

  overspent(step: StepNode): string | undefined {
    return overspentBudget(step, this.#plan, this.#withUntold())?.detail
  }

  /**
   * Only the agent itself knows its cost in time, so the money is divided among the agents that start
   * now. Each of them may use up the rest of the other budgets.
   */
  promise(step: StepNode, place: Place, sharing: Sharing = {}): Omit<Budget, 'ms'> {
    const { agent, taskBudget: own = {} } = step
    const { costUsd, ms: _, ...left } = leftOver(step, this.#plan, this.#withUntold())
    const key = keyOf(place.scope)
    const isTask = place.task !== undefined
    // Programs neither get a cost limit nor report their cost.
    const reportsCost = agent.engine !== 'binary'
    const rest = costUsd === undefined ? undefined : this.#unpromised(costUsd, key)
    const share = least(rest === undefined ? undefined : shareOf(rest, sharing), own.costUsd)
    if (isTask && reportsCost && share !== undefined && share < LEAST_USD)
      throw nothingLeft(costUsd!)
    const promisedUsd = reportsCost ? share : undefined
    const spent = new AbortController()
    const isShare =
      promisedUsd !== undefined && rest !== undefined && rest - promisedUsd >= LEAST_USD
    this.#turns.set(key, { step, isTask, promisedUsd, isShare, spent, ...this.#timeFor(step) })
    return {
      ...left,
      ...(share === undefined ? {} : { costUsd: share }),
    }
  }

  open({ scope }: Place): Allowance {
    const turn = this.#turns.get(keyOf(scope))!
    const { time } = turn
    const stop =
      time === undefined
        ? () => undefined
        : afterAwake(time.end - awakeMs(), () => this.#endTime(turn, time))
    return {
      spent: turn.spent.signal,
      look: (usage) => {
        const more = tokensIn(usage) - tokensIn(turn.usage)
        if (more > 0) turn.lastTokens = more
        const dearer = (usage?.costUsd ?? 0) - (turn.usage?.costUsd ?? 0)
        if (dearer > 0) turn.lastUsd = dearer
        turn.usage = usage
        this.#look(turn)
      },
      tokensLeft: () => scarcest(this.#accounts(turn).flatMap((each) => tokensFor(each, turn))),
      close: () => {
        turn.isOver = true
        stop()
      },
    }
  }

  hasMore({ scope }: Place): boolean {
    const key = keyOf(scope)
    const turn = this.#turns.get(key)
    if (turn?.isShare !== true) return false
    const { costUsd = 0 } = leftOver(turn.step, this.#plan, this.#withUntold())
    return this.#unpromised(costUsd, key) >= leastFor(turn)
  }

  told(scope: readonly string[]): void {
    this.#turns.delete(keyOf(scope))
  }

  /** The time runs from now on, even before the agent starts. */
  #timeFor(step: StepNode): Pick<Turn, 'time'> {
    const { ms: own = Infinity } = step.taskBudget ?? {}
    const shared = timeLeft(step, this.#plan, this.#state())
    const isOwn = own < (shared?.ms ?? Infinity)
    const time = isOwn ? ({ of: 'the task', ms: own } as const) : shared
    return time === undefined ? {} : { time: { ...time, end: awakeMs() + time.ms } }
  }

  /**
   * Ends all turns that share the budget at the same moment: otherwise an agent could learn that its
   * tasks were ended, and finish before its own time is over.
   */
  #endTime(turn: Turn, { of, ms }: NonNullable<Turn['time']>): void {
    const sharers = this.#accounts(turn).find((account) => account.of === of)!.turns
    for (const { spent, time } of sharers) spent.abort(timeOver(time?.ms ?? ms))
  }

  #withUntold(): RunState {
    let state = this.#state()
    for (const { step, usage } of this.#turns.values()) {
      if (usage !== undefined) state = spend(state, step.number, usage, false)
    }
    return state
  }

  /** The rest without what is reserved for agents at work. */
  #unpromised(costUsd: number, key: string): number {
    const others = [...this.#turns].filter(([other, turn]) => other !== key && !isDone(turn))
    const promised = others.reduce((sum, [, turn]) => sum + stillPromised(turn), 0)
    return Math.max(0, costUsd - promised)
  }

  /** The budgets of a turn: its own, that of its step and that of the run. */
  #accounts(turn: Turn): Account[] {
    const { step } = turn
    const state = this.#state()
    const all = [...this.#turns.values()]
    const own = all.filter((each) => each.step.number === step.number)
    const stepSpent = stepAt(state, step.number).spent
    return [
      { of: 'the task', turns: [turn], budget: step.taskBudget ?? {}, spent: NOTHING_SPENT },
      { of: 'the step', turns: own, budget: step.policy.budget, spent: stepSpent },
      { of: 'the run', turns: all, budget: this.#plan.budget, spent: state.spent },
    ]
  }

  /** Ends all turns of a budget that is used up. */
  #look(turn: Turn): void {
    for (const { turns, budget, spent } of this.#accounts(turn)) {
      const tooMany = tooManyTokens(turns, budget, spent)
      const tooDear = tooMuchMoney(turns, budget, spent)
      for (const each of turns) {
        if (tooMany !== undefined && !(each.isTask && isDone(each))) each.spent.abort(tooMany)
        if (tooDear !== undefined && !isDone(each)) each.spent.abort(tooDear)
      }
    }
  }
}

/** One answer to work, and one to report the results. */
const TURNS_TO_END = 2

function tokensFor({ turns, budget, spent }: Account, turn: Turn): TokensLeft[] {
  const { tokens: limit } = budget
  if (limit === undefined) return []
  const used = turns.reduce((sum, { usage }) => sum + tokensIn(usage), countTokens(spent))
  const others = turns.filter((each) => each !== turn && each.isOver !== true)
  const needed = others.reduce((sum, { lastTokens = 0 }) => sum + TURNS_TO_END * lastTokens, 0)
  return [{ left: Math.max(0, limit - used - needed), used, limit }]
}

function scarcest(all: readonly TokensLeft[]): TokensLeft | undefined {
  return all.toSorted((one, other) => one.left - other.left)[0]
}

function tokensIn({ tokens }: Usage = {}): number {
  return tokens === undefined ? 0 : countTokens({ tokens })
}

/** `claude` counts in cents and cannot do anything with less. */
const LEAST_USD = 0.01

/** What an agent needs to do anything; the built-in agent would only spend less on another report. */
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

function least(...amounts: readonly (number | undefined)[]): number | undefined {
  const known = amounts.filter((amount) => amount !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

function tooManyTokens(
  turns: readonly Turn[],
  { tokens: limit }: Budget,
  spent: Spent,
): string | undefined {
  if (limit === undefined) return undefined
  const used = turns.reduce((sum, { usage }) => sum + tokensIn(usage), 0)
  const left = Math.max(0, limit - countTokens(spent))
  return used > left ? `${formatTokens(used)} tokens used, ${formatTokens(left)} left` : undefined
}

function tooMuchMoney(
  turns: readonly Turn[],
  { costUsd: limit }: Budget,
  spent: Spent,
): string | undefined {
  if (limit === undefined) return undefined
  const used = turns.reduce((sum, { usage }) => sum + (usage?.costUsd ?? 0), 0)
  const left = Math.max(0, limit - spent.costUsd)
  const isOver = used > 0 && used >= left
  return isOver ? `${formatMoney(used)} used, ${formatMoney(left)} left` : undefined
}

/** The reservation minus the usage that was reported during the work. */
function stillPromised({ promisedUsd = 0, usage }: Turn): number {
  return Math.max(0, promisedUsd - (usage?.costUsd ?? 0))
}

/**
 * A coding CLI reports its cost at the end: its work is paid for then and should not be discarded.
 * The built-in agent reports it with every answer.
 */
function isDone({ step, usage, isOver = false }: Turn): boolean {
  return step.agent.engine === 'native' ? isOver : usage?.costUsd !== undefined
}

function keyOf(scope: readonly string[]): string {
  return scope.join('/')
}
