import type { EventOf } from '../../src/records/events/event.ts'
import type { RunEvent } from '../../src/records/events/schema.ts'
import { countOf, judged, type Cell } from './cell.ts'
import { timesAt, type LimitCase } from './limits.ts'
import type { MarkerCase } from './markers.ts'
import { runOwn, type OwnRun, type Place, type Way } from './own-run.ts'

export const MARKER = 'ORCHESTRA_COMPLETE'
/** How far ahead a reset is that the run really waits for. */
const RESET_SECONDS = 2
/** How long after its reset a wait may end at most. */
const LATEST_MS = 61_000

/** Judges by the events of the run and the calls of the stand-in. */
export async function judgeOwnLimit(place: Place, way: Way, limit: LimitCase): Promise<Cell> {
  const times = timesAt(Date.now(), RESET_SECONDS)
  const resetsAt = limit.resetsAt?.(times)
  // A clock time is hours ahead: then the announced wait counts, and no second call before it.
  const isSoon = resetsAt === times.exact || limit.want === 'retry'
  const isLast = ({ type, ...event }: RunEvent) =>
    isSoon
      ? type === 'iteration_ended' && 'attempt' in event && event.attempt === 2
      : type === 'waiting'
  const run = await runOwn(place, way, limit.want === 'wait' ? 2 : 1, limit.say(times), isLast)
  const calls = isSoon ? 2 : 1
  // A retry may begin before the run is stopped.
  const isCounted = limit.want === 'retry' ? run.calls.length >= calls : run.calls.length === calls
  const isRight = isCounted && RIGHT[limit.want](run, resetsAt ?? 0)
  return judged(isRight, describe(run))
}

export async function judgeOwnMarker(place: Place, way: Way, marker: MarkerCase): Promise<Cell> {
  const run = await runOwn(place, way, 2, marker.say(MARKER))
  const [reason, exitCode, calls] = marker.isDone ? ['marker', 0, 1] : ['max_iterations', 1, 2]
  const isRight =
    last(run, 'step_ended')?.reason === reason &&
    last(run, 'run_ended')?.exitCode === exitCode &&
    run.calls.length === calls
  return judged(isRight, describe(run))
}

type IsRight = (run: OwnRun, resetsAt: number) => boolean

const RIGHT: Readonly<Record<LimitCase['want'], IsRight>> = {
  wait(run, resetsAt) {
    const [end, pause] = [first(run, 'iteration_ended'), first(run, 'waiting')]
    if (end?.outcome.kind !== 'rate_limited' || pause?.why !== 'quota') return false
    const late = Date.parse(pause.until) - resetsAt * 1000
    return (
      end.again === true &&
      end.outcome.resetsAt === resetsAt &&
      late >= 0 &&
      late <= LATEST_MS &&
      run.calls.slice(1).every((at) => at >= resetsAt * 1000)
    )
  },
  retry(run) {
    const [end, pause] = [first(run, 'iteration_ended'), first(run, 'waiting')]
    return end?.outcome.kind === 'overloaded' && end.again === true && pause?.why === 'retry'
  },
  fail(run) {
    const end = first(run, 'iteration_ended')
    const isPlain = end?.outcome.kind === 'exited' && end.again !== true
    return isPlain && last(run, 'run_ended')?.exitCode === 1 && !first(run, 'waiting')
  },
}

function describe(run: OwnRun): string {
  const outcomes = ofType(run, 'iteration_ended').map(({ outcome }) => outcome.kind)
  const pauses = ofType(run, 'waiting').map(({ why }) => `, waits (${why})`)
  const reason = last(run, 'step_ended')?.reason ?? 'no end'
  return `${countOf(run.calls)}: ${outcomes.join(', ')}${pauses[0] ?? ''}, ${reason}`
}

function first<Type extends RunEvent['type']>(run: OwnRun, type: Type): EventOf<Type> | undefined {
  return ofType(run, type)[0]
}

function last<Type extends RunEvent['type']>(run: OwnRun, type: Type): EventOf<Type> | undefined {
  return ofType(run, type).at(-1)
}

function ofType<Type extends RunEvent['type']>(run: OwnRun, type: Type): EventOf<Type>[] {
  return run.events.filter((event): event is EventOf<Type> => event.type === type)
}
