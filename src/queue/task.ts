export type FailureClass =
  'transient' | 'fatal' | 'timeout' | 'budget' | 'cancelled' | 'precondition' | 'lost'

/** A follow-up task that was refused. */
export interface NotQueued {
  readonly name: string
  readonly error: string
  /** What to do about it. */
  readonly hint?: string | undefined
}

/** How a task ended; sent to its parent. */
export type TaskEnd = Following &
  (
    | { readonly success: true; readonly output: string; readonly cost?: number | undefined }
    | {
        readonly success: false
        readonly class: FailureClass
        readonly error: string
        readonly partialOutput?: string | undefined
        readonly cost?: number | undefined
      }
  )

interface Following {
  /** Set by the store. */
  readonly notQueued?: readonly NotQueued[] | undefined
}

/** The store keeps these and uses only `onParentEnd`. */
export interface QueuedTaskOptions {
  readonly agent?: string | undefined
  readonly model?: string | undefined
  readonly timeoutMs?: number | undefined
  readonly isolation?: 'shared' | 'worktree' | undefined
  readonly onParentEnd?: 'wait' | 'cancel' | undefined
}

export interface NewQueuedTask {
  /** Created by the pusher, so that a push whose answer was lost can be repeated. */
  readonly id: string
  readonly run: string
  /** The agent whose queue it is added to. */
  readonly parent: Agent
  readonly name: string
  readonly prompt: string
  readonly options?: QueuedTaskOptions | undefined
  /** Number of retries after a `transient` or `lost` failure. */
  readonly retry?: number | undefined
  /** Belongs to all attempts of its parent, like pushes of its prompt, instead of only the current one. */
  readonly isForAllAttempts?: boolean | undefined
}

/** Queued at the end of a task, for its nearest ancestor that is still active. */
export type FollowUp = Omit<NewQueuedTask, 'run' | 'parent' | 'isForAllAttempts'>

/**
 * `queued` until its parent starts it, `ready` until a worker claims it, then `running` and `ended`. `idle` is
 * only for agents of steps that are not working.
 */
export type TaskState = 'queued' | 'ready' | 'running' | 'ended' | 'idle'

/** The states of a task that has been started and has not ended. */
export const STARTED_STATES: readonly TaskState[] = ['ready', 'running']

/** A task without its prompt and result. */
export interface TaskHead {
  readonly id: string
  readonly run: string
  readonly name: string
  /** The id of the agent that pushed it; the agents of steps have none. */
  readonly parent: string | null
  readonly options: QueuedTaskOptions
  readonly retry: number
  readonly depth: number
  /** 0 before its first start. */
  readonly attempt: number
  readonly state: TaskState
  readonly pushedAt: number
  /** Time in this state, by the store's clock. */
  readonly ageMs: number
  readonly worker: string | null
  readonly cancelled: string | null
}

export interface QueuedTask extends TaskHead {
  readonly prompt: string
  readonly end: TaskEnd | null
}

/** Maximum number of characters of a prompt or an error in a `TaskBrief`. */
export const BRIEF_LENGTH = 200

/** A task in a list, without texts that may be long. */
export interface TaskBrief extends TaskHead {
  /** The first characters of its prompt. */
  readonly beginning: string
  readonly end: TaskEndBrief | null
}

/** Errors are also cut. */
export type TaskEndBrief = Following &
  (
    | { readonly success: true }
    | { readonly success: false; readonly class: FailureClass; readonly error: string }
  )

/**
 * An agent by its name, by its task (names can be reused), or by its attempt, in which case calls from a
 * finished attempt are refused.
 */
export type Agent = string | Known | Acting

interface Known {
  readonly name: string
  readonly task: string
}

export interface Acting extends Known {
  readonly attempt: number
}

export function actingFor({ task, attempt }: TaskClaim): Acting {
  return { name: task.name, task: task.id, attempt }
}

export function agentName(agent: Agent): string {
  return typeof agent === 'string' ? agent : agent.name
}

/** The exclusive right to work on one attempt of a task. */
export interface TaskClaim {
  readonly task: QueuedTask
  readonly attempt: number
  readonly worker: string
}

/** The agent of a step outside of branches. In branches they have other names; all other agents are tasks. */
export const MAIN = 'main'

/** The id of the agent of a step; no task has such an id. */
export function stepAgentId(run: string, name: string): string {
  return name === MAIN ? `${run}.${MAIN}` : `${run}/${name}`
}

/** The name of the agent of a step by its id; undefined for the id of a task. */
export function stepAgentName(run: string, id: string | null): string | undefined {
  if (id === null || id === stepAgentId(run, MAIN)) return MAIN
  return id.startsWith(`${run}/`) ? id.slice(run.length + 1) : undefined
}
