import type { Clock } from '../../../src/queue/limits.ts'
import type { QueueLimits, QueueTimes } from '../../../src/queue/limits.ts'
import type { QueueStore } from '../../../src/queue/store.ts'

export interface OpenOptions {
  readonly limits?: Partial<QueueLimits>
  readonly times?: Partial<QueueTimes>
  readonly clock?: Clock
}

export type OpenStore = (place: string, options?: OpenOptions) => Promise<QueueStore>

/** A kind of store for the contract tests. */
export interface StoreKind {
  /** The module, and its export, with which another process opens the store. */
  readonly module: string
  readonly opener: string
  readonly open: OpenStore
  /** Returns a place for a new store. */
  makePlace(): string
}
