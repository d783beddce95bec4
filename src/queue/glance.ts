/** How many tasks of a run are how far, and what nobody has read in the inbox of `main`. */
export interface Glance {
  readonly queued: number
  readonly ready: number
  readonly running: number
  readonly failed: number
  readonly done: number
  readonly unread: number
}

/** There is a store, and nobody can say what is in it. */
export interface Unreadable {
  readonly why: string
}
