import type { Plan, StepNode } from '../../chain/plan/plan.ts'
import type { Budget } from '../../chain/plan/policy.ts'
import type { TokensLeft } from '../../engines/native/io.ts'
import type { QueueProvider } from '../../queue/tools/provider.ts'
import type {
  Changes,
  End,
  Leftover,
  LeftInQueue,
  Outcome,
  Refusal,
  Usage,
} from '../../records/events/schema.ts'
import type { Pause } from './patience.ts'
import type { Place } from './place.ts'
import type { Ports } from './ports.ts'
import type { Phases } from './prompt-tasks.ts'

/** What every part of a run needs. Interfaces only, so that each part can import this file. */
export interface Context {
  readonly plan: Plan
  readonly ports: Ports
  readonly family: Processes
  readonly spending: Budgets
  readonly progress: Progress
  readonly queues: Queues
}

/** The processes of a run; none of them outlives it. */
export interface Processes {
  /** Waits for the end of an agent, and reaps orphans that end in the meantime. */
  whileAlive<Result>(agent: number, finished: Promise<Result>): Promise<Result>
  /** Ends what an attempt at a task has left running. */
  endTask(key: string, force: AbortSignal): Promise<Leftover[]>
  end(force: AbortSignal): Promise<Leftover[]>
}

/** The budgets of a run, with the usage of agents that are still at work. */
export interface Budgets {
  /** The end of the step if one of its budgets is spent. */
  spentBudget(step: StepNode): End | undefined
  /** The same for an agent that reports its money as spent, which may be slightly early. */
  spentMoney(step: StepNode): End | undefined
  /** A warning if more was spent than a budget allows. */
  overspent(step: StepNode): string | undefined
  /** Reserves a share for an agent that is about to start; an absent limit means no limit. */
  promise(step: StepNode, place: Place, sharing?: Sharing): Omit<Budget, 'ms'>
  /** Opens the allowance of an agent to which `promise` gave a share. */
  open(place: Place): Allowance
  /** Whether money is left for an agent that has used up its share. */
  hasMore(place: Place): boolean
  /** From now on the events contain the usage of this agent. */
  told(scope: readonly string[]): void
}

/** Who shares the money that is left. */
export interface Sharing {
  /** The number of agents that start now, this one included. */
  readonly sharers?: number
  /** Whether the agent may queue tasks; if so, another share is kept for them. */
  readonly mayQueue?: boolean
}

/** What one turn of an agent may spend. */
export interface Allowance {
  /** Aborts, with a text as its reason, when nothing is left. */
  readonly spent: AbortSignal
  look(usage: Usage | undefined): void
  /** Undefined if there is no limit. */
  tokensLeft(): TokensLeft | undefined
  close(): void
}

/** Detects whether iterations change anything. */
export interface Progress {
  begin(step: StepNode): Promise<Fingerprint | undefined>
  measure(step: StepNode, judged: Judgement, before: Fingerprint | undefined): Promise<Measured>
  /** The number of files that the run changed and did not commit; undefined if none or unknown. */
  countUncommitted(): Promise<number | undefined>
}

/** The state by which progress is recognised; an absent part was not examined. */
export interface Fingerprint {
  readonly git?: string
  readonly tasks?: string
  readonly gate?: string
  readonly outcome?: string
}

/** What an iteration changed. */
export interface Measured {
  /** Iterations without progress so far, this one included; undefined if they are not counted. */
  readonly idle?: number
  readonly fingerprint?: string
  readonly changes?: Changes
}

/** What the outcome of an iteration means for its step. */
export interface Judgement {
  readonly outcome: Outcome
  /** Why the marker was refused. */
  readonly refusal?: Refusal | undefined
  /** The result of the gates, if they ran; a change of it counts as progress. */
  readonly gate?: { readonly isOpen: boolean; readonly detail: string } | undefined
  readonly feedback?: string | undefined
  /** Set if the step ends with this iteration. */
  readonly ends?: End | undefined
  /** Whether the iteration does not count and is repeated. */
  readonly isAgain?: boolean
  readonly pause?: Pause
}

/** The queues and inboxes of a run. */
export interface Queues {
  /** False if the store was used and no longer can be: some of its content may be lost. */
  readonly isSound: boolean
  begin(): Promise<void>
  /** Queues and starts, once, what the prompt of a step asks for before its agent starts. */
  beginTurn(step: StepNode, phases: Phases): Promise<void>
  /** Queue and inbox for a native agent that is `main`; undefined if the run has no queues. */
  provider(): QueueProvider | undefined
  /** Waits for the tasks of a step, then queues what its prompt asks for after its agent. */
  endStep(step: StepNode, end: End): Promise<void>
  tearDownAgain(): Promise<void>
  left(): Promise<LeftInQueue | undefined>
  endWork(): Promise<void>
  close(): Promise<void>
}
