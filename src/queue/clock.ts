/** The store's time in ms since 1970; only tests use another clock. */
export interface Clock {
  now(): number
}

export const SYSTEM_CLOCK: Clock = { now: () => Date.now() }
