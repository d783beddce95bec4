/** What a run needs from the task database. */
export interface Tasks {
  /** Releases the tasks that an iteration did not finish; returns the ids of the tasks it held. */
  endIteration(step: number, iteration: number, outcome: string): Promise<string[]>
  /** Hash of the tasks without their holders; empty if there are none. */
  fingerprint(): Promise<string>
  /** The folder of the task files, even if it does not exist yet. */
  folder(): string
  /** Finds a task by its id as typed, or throws a `UserError`. */
  find(word: string): Promise<FoundTask>
  /** Ids of all tasks that are not done. */
  open(): Promise<string[]>
  count(before?: OpenBefore): Promise<TaskCounts>
}

export interface FoundTask {
  readonly id: string
  /** Why it is not done, such as `TASK-001 is To Do, not Done`; absent if it is. */
  readonly missing?: string
}

/** Ids of the tasks that were open earlier. */
interface OpenBefore {
  readonly inRun: readonly string[]
  readonly inStep: readonly string[]
}

export interface TaskCounts {
  readonly ready: number
  readonly blocked: number
  /** Ids of the blocked ones. */
  readonly blockedTasks: readonly string[]
  /** To Do, with dependencies that are not done. */
  readonly waiting: number
  /** In Progress with a holder. */
  readonly held: number
  /** In Progress without a holder. */
  readonly stuck: number
  /** Files that cannot be read. */
  readonly broken: number
  /** Why no task can be read. */
  readonly problem?: string
  /** Were open earlier in this run, and no longer exist. */
  readonly gone: number
  /** Were open earlier in this step, and were archived without being done. */
  readonly archivedUnfinished: readonly string[]
  /** Were open earlier in this step, and are Done. */
  readonly finished: readonly string[]
  /** Were open earlier in this step, and were deleted. */
  readonly deleted: readonly string[]
  /** All tasks that are not done. */
  readonly open: number
  /** Including done and archived tasks. */
  readonly total: number
}
