import { moneyWords, tokenWords } from '../base/amounts.ts'
import { afterAwake, awakeMs } from '../base/awake.ts'
import { UserError } from '../base/errors.ts'
import type { End, Spent, Usage } from '../events/schema.ts'
import { countTokens, NOTHING_SPENT } from '../events/spent.ts'
import { spend, stepAt, type RunState } from '../events/state.ts'
import type { TokensLeft } from '../native/io.ts'
import type { Plan, StepNode } from '../plan/plan.ts'
import type { Budget } from '../plan/policy.ts'
import { leftOver, overspentBudget, spentBudget, spentMoney, timeLeft } from './budget.ts'
import type { Place } from './place.ts'
import { timeOver } from './time-over.ts'

/** What one agent takes from the budgets, from the moment when it is promised something. */
interface Turn {
  readonly step: StepNode
  readonly isTask: boolean
  /** What it may cost, where that was said to it. */
  readonly promisedUsd?: number | undefined
  /** How long it may take, by which budget, and when that is over by `awakeMs()`. */
  readonly time?: { readonly of: Account['of']; readonly ms: number; readonly end: number }
  readonly spent: AbortController
  usage?: Usage | undefined
  /** Tokens of the last answer that was told. */
  lastTokens?: number
  isOver?: boolean
}

/** A budget, who spends from it, and what the events have told of that. */
interface Account {
  readonly of: 'the task' | 'the step' | 'the run'
  readonly turns: readonly Turn[]
  readonly budget: Budget
  readonly spent: Spent
}

/** Nothing is left for one that would begin now. */
export class BudgetError extends UserError {}

/** Who shares what is left of the money. */
interface Sharing {
  /** How many begin now, this one included. */
  readonly sharers?: number
  /** Whether it may queue tasks, for which a further share is left. */
  readonly mayQueue?: boolean
}

/** What one turn of an agent may spend. */
export interface Purse {
  /** Aborts, with the words for it, when there is nothing left. */
  readonly spent: AbortSignal
  look(usage: Usage | undefined): void
  /** Undefined: as many as it likes. */
  tokensLeft(): TokensLeft | undefined
  close(): void
}

/** What is used of the budgets while agents work side by side: what no event has told yet counts, too. */
export class Spending {
  readonly #plan: Plan
  readonly #state: () => RunState
  readonly #turns = new Map<string, Turn>()

  constructor(plan: Plan, state: () => RunState) {
    this.#plan = plan
    this.#state = state
  }

  /** Why nothing more may be started, where a budget is spent. */
  spentBudget(step: StepNode): End | undefined {
    return spentBudget(step, this.#plan, this.#withUntold())
  }

  /** The same where an agent says that its money is spent, which may be a little early. */
  spentMoney(step: StepNode): End | undefined {
    return spentMoney(step, this.#plan, this.#withUntold())
  }

  /** In words, where more of a budget was used than there was. */
  overspent(step: StepNode): string | undefined {
    return overspentBudget(step, this.#plan, this.#withUntold())?.detail
  }

  /**
   * What is left for one of those that begin now; absent: as much as it likes. Only the agent itself
   * knows in time what it costs, so that the money is shared out; of all else each may take the rest.
   */
  promise(step: StepNode, place: Place, sharing: Sharing = {}): Omit<Budget, 'ms'> {
    const { agent, taskBudget: own = {} } = step
    const { costUsd, ms: _, ...left } = leftOver(step, this.#plan, this.#withUntold())
    const key = keyOf(place.scope)
    const isTask = place.task !== undefined
    // Others neither know what they may cost nor tell what they did.
    const isTold = agent.engine !== 'binary'
    const rest = costUsd === undefined ? undefined : this.#unpromised(costUsd, key)
    const share = least(rest === undefined ? undefined : shareOf(rest, sharing), own.costUsd)
    if (isTask && isTold && share !== undefined && share < LEAST_USD) throw nothingLeft(costUsd!)
    const promisedUsd = isTold ? share : undefined
    const spent = new AbortController()
    this.#turns.set(key, { step, isTask, promisedUsd, spent, ...this.#timeFor(step) })
    return {
      ...left,
      ...(share === undefined ? {} : { costUsd: share }),
    }
  }

  /** The purse of an agent that starts with what it was promised. */
  open({ scope }: Place): Purse {
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

  /** From now on the events tell what it took. */
  told(scope: readonly string[]): void {
    this.#turns.delete(keyOf(scope))
  }

  /** From now on: what comes before an agent starts takes time, too. */
  #timeFor(step: StepNode): Pick<Turn, 'time'> {
    const { ms: own = Infinity } = step.taskBudget ?? {}
    const shared = timeLeft(step, this.#plan, this.#state())
    const isOwn = own < (shared?.ms ?? Infinity)
    const time = isOwn ? ({ of: 'the task', ms: own } as const) : shared
    return time === undefined ? {} : { time: { ...time, end: awakeMs() + time.ms } }
  }

  /**
   * Ends all that share the time that is over, in the same moment: otherwise an agent could hear that
   * its tasks were ended, and be done before its own time is over.
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

  /** The rest without what those at work may still cost. */
  #unpromised(costUsd: number, key: string): number {
    const others = [...this.#turns].filter(([other, turn]) => other !== key && !isDone(turn))
    const promised = others.reduce((sum, [, turn]) => sum + stillPromised(turn), 0)
    return Math.max(0, costUsd - promised)
  }

  /** The budgets from which one spends: its own, that of its step and that of the run. */
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

  /** Ends all that spend from a budget that is used up. */
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

/** Two turns are one to work and one to hand back what there is. */
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

/** `claude` counts in cents: with less it would begin in vain. */
const LEAST_USD = 0.01

/** In whole cents, so that all shares together are not more than there is. */
function shareOf(rest: number, { sharers = 1, mayQueue = false }: Sharing): number {
  const inCents = (share: number) => Math.floor(Number((share * 100).toPrecision(12))) / 100
  const leaving = mayQueue ? inCents(rest / (sharers + 1)) : 0
  const share = leaving >= LEAST_USD ? leaving : inCents(rest / sharers)
  return share >= LEAST_USD ? share : rest / sharers
}

function nothingLeft(rest: number): BudgetError {
  return new BudgetError(
    `budget: what is left is promised to others at work, or less than a cent (${moneyWords(rest)})`,
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
  return used > left ? `${tokenWords(used)} tokens, ${tokenWords(left)} were left` : undefined
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
  return isOver ? `${moneyWords(used)}, ${moneyWords(left)} were left` : undefined
}

/** Whoever tells what he costs while he works has used a part of it already. */
function stillPromised({ promisedUsd = 0, usage }: Turn): number {
  return Math.max(0, promisedUsd - (usage?.costUsd ?? 0))
}

/**
 * A coding CLI tells at the end what it cost: then its work is paid for, and need not be thrown away.
 * The built-in agent tells it with every answer.
 */
function isDone({ step, usage, isOver = false }: Turn): boolean {
  return step.agent.engine === 'native' ? isOver : usage?.costUsd !== undefined
}

function keyOf(scope: readonly string[]): string {
  return scope.join('/')
}
