import { CLOCKS } from '../base/awake.ts'
import { firstOf } from '../base/first-of.ts'
import type { StepNode } from '../plan/plan.ts'
import type { Context } from './context.ts'
import { runHooks } from './hooks.ts'
import type { Pause } from './patience.ts'
import type { Place } from './place.ts'

/** How often a wait looks up: at the clock, for a machine may have slept, and at who asks for what. */
const LOOK_MS = 500
/** How long a hook may go on after the wait, and where somebody has ended it. */
const LAST_WORDS_MS = 10_000
const ASKED_MS = 1000

/** What every wait needs. */
type Waiting = Pick<Context, 'plan' | 'ports' | 'family'>

/** Waits until it makes sense to go on, and says what ended it. */
export async function waitFor(
  { why, until, error }: Pause,
  step: StepNode | undefined,
  place: Place,
  context: Waiting,
): Promise<'over' | 'retry_now' | 'stopped'> {
  const { ports } = context
  const began = Date.now()
  // A wish that came when an earlier wait was just over is not meant for this one.
  ports.control.takeRetryNow()
  const event = ports.emit({
    type: 'waiting',
    ...place,
    why,
    until: new Date(until).toISOString(),
    error,
  })
  const over = new AbortController()
  const hook = runHooks('onWait', event, step, context, AbortSignal.any([ports.stop, over.signal]))
  const cause = await linger(until, context)
  // It runs beside the wait, and may finish what it has to say.
  const late = cause === 'over' ? LAST_WORDS_MS : ASKED_MS
  await firstOf({ hook, late, stop: ports.stop })
  over.abort()
  await hook
  ports.emit({ type: 'waited', ...place, ms: Date.now() - began, cause })
  return cause
}

async function linger(
  until: number,
  { ports: { stop, control } }: Waiting,
): Promise<'over' | 'retry_now' | 'stopped'> {
  const watch = new Watch(until)
  for (;;) {
    if (stop.aborted || control.isStopAsked) return 'stopped'
    if (control.takeRetryNow()) return 'retry_now'
    const rest = watch.restMs()
    if (rest <= 0) return 'over'
    await pause(Math.min(rest, LOOK_MS), stop)
  }
}

/** By the clock: after the machine has slept, it is over at once. */
async function pause(ms: number, stop: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>()
  const timer = setTimeout(over.resolve, ms)
  await firstOf({ over: over.promise, stop })
  clearTimeout(timer)
}

/**
 * Says how long it is until a moment. One clock stands still while the machine sleeps, the other one
 * may be set back by hours: the moment has come when the first of them says so.
 */
export class Watch {
  readonly #until: number
  readonly #clocks: typeof CLOCKS
  readonly #end: number

  constructor(until: number, clocks = CLOCKS) {
    this.#until = until
    this.#clocks = clocks
    this.#end = clocks.passed() + until - clocks.time()
  }

  restMs(): number {
    return Math.min(this.#until - this.#clocks.time(), this.#end - this.#clocks.passed())
  }
}
