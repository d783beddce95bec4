import { CLOCKS } from '../../base/awake.ts'
import { firstCause } from '../../base/first-cause.ts'
import type { StepNode } from '../../chain/plan/plan.ts'
import type { Context } from '../context.ts'
import { runHooks } from './hooks.ts'
import type { Pause } from './patience.ts'
import type { Place } from '../place.ts'
import type { Ports } from '../ports.ts'

/** How often a wait checks the clock and the requests of other processes. */
const POLL_MS = 500
/** How long the hook may keep running after the wait, and after a wait that was interrupted. */
const HOOK_MS = 10_000
const CUT_SHORT_MS = 1000

/** Waits until the pause is over, and returns what ended the wait. */
export async function waitFor(
  { why, until, error }: Pause,
  step: StepNode | undefined,
  place: Place,
  context: Context,
  stop: AbortSignal = context.ports.stop,
): Promise<'over' | 'retry_now' | 'stopped'> {
  const { ports } = context
  const { control } = ports
  const began = Date.now()
  const others = waitsFor(control)
  // Clears a request that arrived after the last wait ended.
  if (others.size === 0) control.takeRetryNow()
  const event = ports.emit({
    type: 'waiting',
    ...place,
    why,
    until: new Date(until).toISOString(),
    error,
  })
  const over = new AbortController()
  const hook = runHooks('onWait', event, step, context, AbortSignal.any([stop, over.signal]))
  const retry = new AbortController()
  others.add(retry)
  const cause = await waitUntil(until, control, { stop, retry: retry.signal }, () => {
    for (const each of others) each.abort()
  })
  others.delete(retry)
  // The hook runs during the wait and may finish.
  const late = cause === 'over' ? HOOK_MS : CUT_SHORT_MS
  await firstCause({ hook, late, stop })
  over.abort()
  await hook
  ports.emit({ type: 'waited', ...place, ms: Date.now() - began, cause })
  return cause
}

/** The current waits of each run: a request to retry ends all of them, and only one sees it. */
const WAITS = new WeakMap<Ports['control'], Set<AbortController>>()

function waitsFor(control: Ports['control']): Set<AbortController> {
  const known = WAITS.get(control) ?? new Set()
  WAITS.set(control, known)
  return known
}

async function waitUntil(
  until: number,
  control: Ports['control'],
  { stop, retry }: { readonly stop: AbortSignal; readonly retry: AbortSignal },
  retryAll: () => void,
): Promise<'over' | 'retry_now' | 'stopped'> {
  const watch = new Watch(until)
  for (;;) {
    if (stop.aborted || control.isStopRequested) return 'stopped'
    if (control.takeRetryNow()) retryAll()
    if (retry.aborted) return 'retry_now'
    const rest = watch.restMs()
    if (rest <= 0) return 'over'
    await firstCause({ poll: Math.min(rest, POLL_MS), stop, retry })
  }
}

/**
 * The time left until a moment, by whichever of two clocks reaches it first: one stops while the machine
 * sleeps, the other may be set back by hours.
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
