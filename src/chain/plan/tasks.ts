/** What a run needs from the task database. */
export interface Tasks {
  /** Releases the tasks that an iteration did not finish; returns the ids of those that it held. */
  endIteration(step: string, iteration: number, outcome: string): Promise<string[]>
  /** The tasks that an iteration holds right now. */
  claimed(step: string, iteration: number): Promise<readonly ClaimedTask[]>
  /** Hash of the tasks without their holders; empty if there are none. */
  fingerprint(): Promise<string>
  /** The folder of the task files, even if it does not exist yet. */
  folder(): string
  /** Whether an iteration of the run holds a task or has held one. */
  hasClaimed(step: string, iteration: number): Promise<boolean>
  /** Open tasks that someone holds, or has finished in another working tree. */
  inWork(): Promise<readonly TaskInWork[]>
  /** Finds a task by its id as typed, or throws a `UserError`. */
  find(word: string): Promise<FoundTask>
  open(): Promise<string[]>
  count(before?: OpenBefore): Promise<TaskCounts>
}

export interface ClaimedTask {
  readonly id: string
  readonly title: string
}

export interface TaskInWork {
  readonly id: string
  /** The project folder in which it is being worked on. */
  readonly root: string
  /** The iteration that holds it, if it is one of a run. */
  readonly holder?: { readonly run: string; readonly step: string } | undefined
}

export interface FoundTask {
  readonly id: string
  readonly status: string
  /** Why it is not done, such as `TASK-001 is To Do, not Done`; absent if it is. */
  readonly missing?: string
}

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
  /** Held by other branches of the run, or not merged yet; known only inside branches. */
  readonly inBranches?: number
  /** In Progress without a holder. */
  readonly stuck: number
  /** Files that cannot be read. */
  readonly broken: number
  /** Why the tasks cannot be read. */
  readonly problem?: string
  /** Open earlier in this run, and gone now. */
  readonly gone: number
  /** Open earlier in this step, and archived without being done. */
  readonly archivedUnfinished: readonly string[]
  /** Open earlier in this step, and Done now. */
  readonly finished: readonly string[]
  /** Open earlier in this step, and deleted. */
  readonly deleted: readonly string[]
  /** All tasks that are not done. */
  readonly open: number
  /** Including done and archived tasks. */
  readonly total: number
}
