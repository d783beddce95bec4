import type { QueueStore, RetryDelay } from '../../queue/store.ts'
import type { TaskEnd } from '../../queue/task.ts'
import type { TurnResult } from '../agent/follow-agent.ts'
import type { Context } from '../context.ts'
import type { OpenWorktrees } from '../worktrees/open-worktrees.ts'
import type { Worktrees } from '../worktrees/worktree.ts'
import type { Pushers } from './pushers.ts'

/** What every part of a worker pool needs. */
export interface PoolContext extends Context {
  readonly store: QueueStore
  readonly pushers: Pushers
  readonly worktrees: Worktrees
  readonly openWorktrees: OpenWorktrees
}

/** The result of an attempt's agent, before its children and its worktree are dealt with. */
export interface AttemptResult {
  readonly end: TaskEnd
  readonly agent: string
  readonly turned?: TurnResult
  /** Set if the attempt will be repeated without counting as a retry. */
  readonly later?: RetryDelay | undefined
}
