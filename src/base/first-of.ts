/** Something that may happen: a promise that settles, a signal that aborts, or a time in ms. */
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
      // Beyond this a timer would go off at once.
      const timer = setTimeout(happen, Math.min(cause, 2 ** 31 - 1))
      cleanUp.push(() => clearTimeout(timer))
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
