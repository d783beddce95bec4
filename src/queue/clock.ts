/** The store's own time in ms since 1970; only tests bring another. */
export interface Clock {
  now(): number
}

export const SYSTEM_CLOCK: Clock = { now: () => Date.now() }
