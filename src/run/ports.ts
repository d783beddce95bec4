import type { MaskStream } from '../base/secrets/mask.ts'
import type { EventBody, OutputChunk } from '../records/events/event.ts'
import type { End, Lacks, Notice, RunEvent, Worktree } from '../records/events/schema.ts'
import type { RunState } from '../records/events/state.ts'
import type { StepNode } from '../chain/plan/plan.ts'
import type { Cgroup } from '../base/linux/cgroup.ts'
import type { Place } from './place.ts'
import type { Tasks } from '../chain/plan/tasks.ts'
import type { ReadPrompt } from '../chain/prompts/choose.ts'
import type { QueueStore } from '../queue/store.ts'
import type { TaskHead } from '../queue/task.ts'

/** The signals that end a run. */
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGQUIT'

/** Everything that a run needs from its host. */
export interface Ports {
  /** Emits an event and returns it as it was recorded. */
  readonly emit: (event: EventBody) => RunEvent
  /** Masks secrets in data that is used before it is emitted. */
  readonly mask: <Data>(data: Data) => Data
  /** Masks secrets in a byte stream that is truncated before it is emitted. */
  readonly maskStream: () => MaskStream
  /** The state after all events so far, those of earlier processes included. */
  readonly state: () => RunState
  /** The event for people, with the state after it. */
  readonly describe: (event: RunEvent) => Notice
  readonly keepPrompt: (hash: string, text: string) => void
  readonly control: Control
  /** A returned promise makes the agent wait until more output can be taken. */
  readonly output: (chunk: OutputChunk) => void | Promise<void>
  readonly readPrompt: ReadPrompt
  /** The tasks of the project, or of the worktree of a branch. */
  readonly tasks: Tasks
  /** The tasks in another working tree of the repository. */
  readonly tasksIn: (cwd: string) => Tasks
  /** The base environment of every agent. */
  readonly env: Readonly<Record<string, string>>
  /** Aborts, with a `StopReason`, when the run has to end. */
  readonly stop: AbortSignal
  /** Aborts when everything must end at once. */
  readonly force: AbortSignal
  /** Whether every descendant of this process, including orphans, belongs to the run. */
  readonly ownsDescendants: boolean
  /** The cgroup of the run, which also contains this process. */
  readonly cgroup?: Promise<Cgroup | undefined>
  /** Queues and inboxes; absent if the run has no record to keep them in. */
  readonly queue?: QueuePort | undefined
  /** The file for the conversation of a native agent; undefined if it is not saved. */
  readonly conversation: (place: Place) => string | undefined
  /** The folder of the record, for `run_started`. */
  readonly record?: string | undefined
  /** Where the record is now; undefined if it no longer exists. */
  readonly recordPlace: () => string | undefined
  readonly lacks?: Lacks | undefined
  /** How long a killed process worked after its last event. */
  readonly lostMs?: number | undefined
  readonly version: string
}

/** Access to the queues and inboxes of a run. */
export interface QueuePort {
  /** Our own program as an MCP server; if absent, agents get no queue tools. */
  readonly program?: string | undefined
  hasStore(): boolean
  /** Creates the store if necessary. */
  open(): Promise<QueueStore>
  /** Fails if the store is damaged, or does not match its history. */
  verify(): Promise<void>
  /** Attempts whose end is in the events, as task id and number. */
  reportedEnds(): ReadonlySet<string>
  /** The worktrees of a task's attempts, from the events, oldest first. */
  worktrees(id: string): readonly AttemptWorktree[]
  /**
   * The sub-agent for a task; `pusher` is the agent that queued it, if an agent did. Throws a
   * `UserError` if the sub-agent does not exist.
   */
  subAgent(task: WantedTask, parent: string, pusher: StepNode | undefined): Promise<StepNode>
}

/** The fields of a task that determine its sub-agent. */
export type WantedTask = Pick<TaskHead, 'name' | 'options'>

/** The worktree of one attempt of a task. */
export interface AttemptWorktree extends Worktree {
  readonly attempt: number
}

/** Requests of other processes to a run. */
interface Control {
  /** Whether the run should end after this iteration. */
  readonly isStopRequested: boolean
  /** Whether a wait should end now; reading it clears the request. */
  takeRetryNow(): boolean
}

export const EXIT_CODES: Record<StopSignal, number> = {
  SIGINT: 130,
  SIGTERM: 143,
  SIGHUP: 129,
  SIGQUIT: 131,
}

/** Why a run is stopped: the signal for agents, and a text for people. */
export interface StopReason {
  readonly signal: StopSignal
  readonly words: string
  /** Whether only this part of the run ends, because another part has failed. */
  readonly isCancelled?: true
}

export function stopReason(signal: StopSignal, words = `interrupted by ${signal}`): StopReason {
  return { signal, words }
}

/** The reason of an aborted signal; any reason that is not ours counts as SIGTERM. */
export function stopReasonOf(stop: AbortSignal): StopReason {
  const reason: unknown = stop.reason
  if (typeof reason === 'string' && Object.hasOwn(EXIT_CODES, reason))
    return stopReason(reason as StopSignal)
  if (typeof reason !== 'object' || reason === null) return stopReason('SIGTERM')
  return 'signal' in reason && 'words' in reason ? (reason as StopReason) : stopReason('SIGTERM')
}

/** The reason when another process asked the run to stop after its iteration. */
export const STOP_ASKED = 'stopped by forkhestra stop'

/** Whether the run ends as soon as possible, or after this iteration. */
export function isStopping({ stop, control }: Ports): boolean {
  return stop.aborted || control.isStopRequested
}

/** Whether this part of the run ends because another part has failed. */
export function isCancelled({ stop }: Pick<Ports, 'stop'>): boolean {
  return stop.aborted && stopReasonOf(stop).isCancelled === true
}

/** How a step ends that was cancelled, or stopped by a signal or a request. */
export function interrupted(stop: AbortSignal): End {
  if (!stop.aborted) return { reason: 'interrupted', detail: STOP_ASKED }
  const { words, isCancelled: isOthers } = stopReasonOf(stop)
  return { reason: isOthers === true ? 'cancelled' : 'interrupted', detail: words }
}
