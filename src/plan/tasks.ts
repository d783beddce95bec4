/** What a run wants to know of the task database. */
export interface Tasks {
  /**
   * What an iteration took and did not finish is free for the next one.
   * Gives the ids of the tasks that it had, as far as they are known.
   */
  endIteration(step: number, iteration: number, outcome: string): string[]
  /** Hash of what the tasks say, whoever is at them; empty where there are none. */
  fingerprint(): string
  /** Where the files of the tasks are, or would be. */
  folder(): string
  /** One task, by its id as a person types it. Throws a `UserError` where it cannot be found. */
  find(word: string): FoundTask
  /** Ids of all that are not done. */
  open(): string[]
  count(before?: OpenBefore): TaskCounts
}

export interface FoundTask {
  readonly id: string
  /** What it lacks, in words: `TASK-001 is To Do, not Done`; absent where it is done. */
  readonly lacks?: string
}

/** Ids of the tasks that were open earlier. */
export interface OpenBefore {
  readonly inRun: readonly string[]
  readonly inStep: readonly string[]
}

export interface TaskCounts {
  readonly ready: number
  readonly blocked: number
  /** To Do, but what they wait for is not done. */
  readonly waiting: number
  /** In Progress, and somebody is at it. */
  readonly held: number
  /** In Progress, and nobody is. */
  readonly stuck: number
  /** Files that cannot be read. */
  readonly broken: number
  /** Why none of them can be read. */
  readonly problem?: string
  /** Were open earlier in this run, and are nowhere any more. */
  readonly gone: number
  /** Were open earlier in this step, and were archived without being done. */
  readonly shelved: readonly string[]
  /** Were open earlier in this step, and are Done. */
  readonly finished: readonly string[]
  /** Were open earlier in this step, and were deleted. */
  readonly deleted: readonly string[]
  /** All that are not done. */
  readonly open: number
  /** Done and archived ones included. */
  readonly total: number
}
