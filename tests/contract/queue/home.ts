import type { Clock } from '../../../src/queue/limits.ts'
import type { Limits, Times } from '../../../src/queue/limits.ts'
import type { QueueStore } from '../../../src/queue/store.ts'

export interface OpenOptions {
  readonly limits?: Partial<Limits>
  readonly times?: Partial<Times>
  readonly clock?: Clock
}

export type OpenStore = (place: string, options?: OpenOptions) => Promise<QueueStore>

/** A kind of store for the contract tests. */
export interface Home {
  /** The module, and its export, with which another process opens the store. */
  readonly module: string
  readonly opener: string
  readonly open: OpenStore
  /** Returns a place for a new store. */
  makePlace(): string
}
