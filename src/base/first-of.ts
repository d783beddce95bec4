import { afterAwake } from './awake.ts'

/** What may happen: a promise settles, a signal aborts, or this process has run for so many ms. */
export type Cause = Promise<unknown> | AbortSignal | number

/**
 * The name of what happens first. Timers and listeners are gone afterwards: a race against a promise
 * as long-lived as the run would grow with every iteration.
 */
export function firstOf<Name extends string>(
  causes: Record<Name, Cause | undefined>,
): Promise<Name> {
  const { promise, resolve } = Promise.withResolvers<Name>()
  const cleanUp: (() => void)[] = []
  for (const [name, cause] of Object.entries(causes) as [Name, Cause | undefined][]) {
    const happen = () => resolve(name)
    if (typeof cause === 'number') {
      cleanUp.push(afterAwake(cause, happen))
    } else if (cause instanceof AbortSignal) {
      if (cause.aborted) happen()
      cause.addEventListener('abort', happen)
      cleanUp.push(() => cause.removeEventListener('abort', happen))
    } else if (cause !== undefined) {
      cause.then(happen, happen)
    }
  }
  return promise.finally(() => cleanUp.forEach((step) => step()))
}
