import { afterAwake } from './awake.ts'

/** A promise that settles, a signal that aborts, or a time in ms for which this process runs. */
export type Cause = Promise<unknown> | AbortSignal | number

/**
 * The name of what happens first. It removes its timers and listeners: those on a signal that lives as
 * long as the run would grow with every iteration.
 */
export function firstCause<Name extends string>(
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
