import type { Clock } from '../../../src/queue/limits.ts'
import type { Limits, Times } from '../../../src/queue/limits.ts'
import type { QueueStore } from '../../../src/queue/store.ts'

export interface OpenOptions {
  readonly limits?: Partial<Limits>
  readonly times?: Partial<Times>
  readonly clock?: Clock
}

export type OpenStore = (place: string, options?: OpenOptions) => Promise<QueueStore>

/** A kind of store, as the contract needs it. */
export interface Home {
  /** The module that opens one, for processes of their own; and the name of what it exports. */
  readonly module: string
  readonly opener: string
  readonly open: OpenStore
  /** Where a store may be that does not exist yet. */
  makePlace(): string
}
