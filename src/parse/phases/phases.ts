interface ReadCommand {
  readonly kind: 'read'
  readonly path: string
  readonly line: number
}

/** What `/push` may say of a task beside its prompt; what was not written is absent. */
export interface PushOptions {
  readonly name?: string
  readonly agent?: string
  readonly model?: string
  readonly timeoutMs?: number
  readonly retry?: number
  readonly isolation?: 'shared' | 'worktree'
  readonly on?: 'success' | 'failure' | 'always'
  readonly onParentEnd?: 'wait' | 'cancel'
}

export interface PushCommand extends PushOptions {
  readonly kind: 'push'
  /** As the task will get it; commands of its own are read when the task starts. */
  readonly prompt: string
  readonly line: number
}

/** At most one of both: start the oldest `count` now, or all of the queue, `parallel` at a time. */
interface RunCommand {
  readonly kind: 'run'
  readonly count?: number
  readonly parallel?: number
  readonly line: number
}

export type SetupCommand = ReadCommand | PushCommand | RunCommand

/** A prompt as a small program: before the agent, what the agent gets, after the agent. */
export interface Phases {
  readonly setup: readonly SetupCommand[]
  readonly content: string
  readonly teardown: readonly PushCommand[]
}
