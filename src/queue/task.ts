export type FailureClass =
  'transient' | 'fatal' | 'timeout' | 'budget' | 'cancelled' | 'precondition' | 'lost'

/** What was to follow an end, and was refused. */
export interface NotQueued {
  readonly name: string
  readonly error: string
  /** What to do about it. */
  readonly hint?: string | undefined
}

/** How a task ended; this is what its parent is told. */
export type End = Following &
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
  /** Written by the store, which alone can tell. */
  readonly notQueued?: readonly NotQueued[] | undefined
}

/** What `/push` may say about a task; the store keeps it and reads `onParentEnd` alone. */
export interface TaskOptions {
  readonly agent?: string | undefined
  readonly model?: string | undefined
  readonly timeoutMs?: number | undefined
  readonly isolation?: 'shared' | 'worktree' | undefined
  readonly onParentEnd?: 'wait' | 'cancel' | undefined
}

export interface NewTask {
  /** Made by who pushes, so that a push whose answer was lost can be repeated. */
  readonly id: string
  readonly run: string
  /** The agent in whose queue it is put. */
  readonly parent: Agent
  readonly name: string
  readonly prompt: string
  readonly options?: TaskOptions | undefined
  /** How many times it is tried again after a `transient` or `lost` failure. */
  readonly retry?: number | undefined
  /** Belongs to all attempts at its parent, as what its prompt has pushed; else to the one that acts. */
  readonly isOfAll?: boolean | undefined
}

/** What is queued at the end of a task, for the nearest above it that will read; once by its id. */
export type FollowUp = Omit<NewTask, 'run' | 'parent' | 'isOfAll'>

/**
 * `queued` until its parent starts it, `ready` until a worker takes it, `running`, and `ended` for
 * good. `idle` is only `main`, while nobody acts for it.
 */
export type TaskState = 'queued' | 'ready' | 'running' | 'ended' | 'idle'

/** What is known of a task but its words. */
export interface TaskHead {
  readonly id: string
  readonly run: string
  readonly name: string
  /** The id of the agent that pushed it; `main` has none. */
  readonly parent: string | null
  readonly options: TaskOptions
  readonly retry: number
  readonly depth: number
  /** 0 before its first start. */
  readonly attempt: number
  readonly state: TaskState
  readonly pushedAt: number
  /** How long it has been in this state, by the store's clock. */
  readonly ageMs: number
  readonly worker: string | null
  /** Why it shall stop, where someone said so. */
  readonly cancelled: string | null
}

export interface Task extends TaskHead {
  readonly prompt: string
  readonly end: End | null
}

/** A task as one of many: its prompt and its result may be long. */
export interface TaskBrief extends TaskHead {
  /** Of its prompt, 200 characters at most. */
  readonly beginning: string
  readonly end: EndBrief | null
}

/** Of an error, 200 characters at most. */
export type EndBrief = Following &
  (
    | { readonly success: true }
    | { readonly success: false; readonly class: FailureClass; readonly error: string }
  )

/**
 * An agent by its name, by its task, which no other of that name has, or, where it acts itself, by
 * the attempt at it: what is left of one that is over is refused.
 */
export type Agent = string | Known | Acting

interface Known {
  readonly name: string
  /** The id of its task. */
  readonly task: string
}

export interface Acting extends Known {
  readonly attempt: number
}

export function actingFor({ task, attempt }: Claim): Acting {
  return { name: task.name, task: task.id, attempt }
}

export function nameOf(agent: Agent): string {
  return typeof agent === 'string' ? agent : agent.name
}

/** The right to work on one attempt of a task; nothing else may write about it. */
export interface Claim {
  readonly task: Task
  readonly attempt: number
  readonly worker: string
}

/** The step's agent; every other agent of a run is a task. */
export const MAIN = 'main'
