import type { MaskStream } from '../base/secrets/mask.ts'
import type { EventBody, OutputChunk } from '../events/event.ts'
import type { Lacks, RunEvent, Worktree } from '../events/schema.ts'
import type { RunState } from '../events/state.ts'
import type { StepNode } from '../plan/plan.ts'
import type { Cgroup } from './cgroup.ts'
import type { Place } from './place.ts'
import type { Tasks } from '../plan/tasks.ts'
import type { ReadPrompt } from '../prompt/choose.ts'
import type { QueueStore } from '../queue/store.ts'
import type { TaskHead } from '../queue/task.ts'

/** The signals that end a run. */
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGQUIT'

/** What carrying out a plan needs from outside. */
export interface Ports {
  /** Tells an event; what it was told as is returned. */
  readonly emit: (event: EventBody) => RunEvent
  /** The same data without its secrets, for what is told before it is an event. */
  readonly mask?: <Data>(data: Data) => Data
  /** The same for a stream of bytes that is cut before it is told. */
  readonly maskStream?: () => MaskStream
  /** What all events so far, those of an earlier process included, have come to. */
  readonly state: () => RunState
  /** Keeps a prompt under its hash. */
  readonly keepPrompt: (hash: string, text: string) => void
  readonly control: Control
  /** A promise asks the run to wait until there is room for more. */
  readonly output: (chunk: OutputChunk) => void | Promise<void>
  readonly readPrompt: ReadPrompt
  /** The tasks of the project. */
  readonly tasks: Tasks
  /** Environment that every agent starts from. */
  readonly env: Readonly<Record<string, string>>
  /** Aborts, with a `StopReason`, when the run is to end. */
  readonly stop: AbortSignal
  /** Aborts when nothing is to be waited for any more. */
  readonly force: AbortSignal
  /** Whether every descendant of this process belongs to the run, orphans included. */
  readonly ownsDescendants: boolean
  /** The cgroup of the run, with this process in it; absent, or undefined, where there is none. */
  readonly cgroup?: Promise<Cgroup | undefined>
  /** Queues and inboxes; absent where there is no record to keep them in. */
  readonly queue?: QueuePort | undefined
  /** Where the conversation of an agent of this process is kept; absent: nowhere. */
  readonly conversation?: ((place: Place) => string | undefined) | undefined
  /** For `run_started`: what the record of the run is, and what of the plan it cannot hold. */
  readonly record?: string | undefined
  readonly lacks?: Lacks | undefined
  readonly version: string
}

/** Where the queues and inboxes of a run are, and who works them off. */
export interface QueuePort {
  /** Our own program, through which agents get queue and inbox as tools; absent: none gets them. */
  readonly program?: string | undefined
  /** Whether somebody has made them already. */
  isThere(): boolean
  /** Calls back once somebody has; what is returned ends the watch. */
  onceThere(callback: () => void): () => void
  /** Makes them where they are not there yet. */
  open(): Promise<QueueStore>
  /** The attempts at tasks whose end the events tell, as the id of the task and the number. */
  endsTold(): ReadonlySet<string>
  /** The worktrees in which a task has been worked at, as the events tell, oldest first. */
  worktrees(id: string): readonly AttemptWorktree[]
  /**
   * Who is to work at a task that an agent has queued; `pusher` is how that agent itself runs, where
   * it is one. Throws a `UserError` where there is nobody.
   */
  subAgent(task: WantedTask, parent: string, pusher: StepNode | undefined): Promise<StepNode>
}

/** What of a task says who is to work at it. */
export type WantedTask = Pick<TaskHead, 'name' | 'options'>

/** Where one attempt at a task has worked by itself. */
export interface AttemptWorktree extends Worktree {
  readonly attempt: number
}

/** What another process may ask of a run. */
export interface Control {
  /** Whether the run is to end after this iteration. */
  readonly isStopAsked: boolean
  /** Whether a wait is to end at once; once. */
  takeRetryNow(): boolean
}

/** For a run that nobody can ask anything. */
export const NO_CONTROL: Control = { isStopAsked: false, takeRetryNow: () => false }

export const EXIT_CODES: Record<StopSignal, number> = {
  SIGINT: 130,
  SIGTERM: 143,
  SIGHUP: 129,
  SIGQUIT: 131,
}

/** Why a run is stopped: the signal that agents get, and the words for people. */
export interface StopReason {
  readonly signal: StopSignal
  readonly words: string
}

export function stopReason(signal: StopSignal, words = `interrupted by ${signal}`): StopReason {
  return { signal, words }
}

/** What an aborted run was stopped by; any other reason than ours counts as SIGTERM. */
export function stopReasonOf(stop: AbortSignal): StopReason {
  const reason: unknown = stop.reason
  if (typeof reason === 'string' && Object.hasOwn(EXIT_CODES, reason))
    return stopReason(reason as StopSignal)
  if (typeof reason !== 'object' || reason === null) return stopReason('SIGTERM')
  return 'signal' in reason && 'words' in reason ? (reason as StopReason) : stopReason('SIGTERM')
}
