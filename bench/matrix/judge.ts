import { availableParallelism } from 'node:os'
import { countOf, judged, type Cell } from './cell.ts'
import { LIMITS, PLAIN_FAILURE, timesAt, type LimitCase } from './limits.ts'
import { MARKERS, PROGRESS } from './markers.ts'
import { succeeds } from './session.ts'
import { watch, type Setup, type Watched } from './watch.ts'

/** A tool that runs coding agents in a loop, with a minimal setup. */
export interface Tool {
  readonly name: string
  readonly version: string
  /** How its agents report that everything is done. */
  readonly marker: string
  readonly setUp: (program: string, iterations: number) => Setup
  /** Whether it considers the work done, judging by its own output and files. */
  readonly isDone: (watched: Watched) => boolean
  /** A note for readers of its column. */
  readonly remark: string
}

export interface Column {
  readonly name: string
  readonly limits: readonly Cell[]
  readonly markers: readonly Cell[]
  readonly remark: string
}

/** How long a tool is watched after its first call, unless it exits earlier. */
const WINDOW_SECONDS = 30
/** Far beyond the window: a tool that calls again has not waited. */
const RESET_SECONDS = 3600
/** How many runs of a tool are active at once. */
const AT_ONCE = availableParallelism()

interface Seen extends Watched {
  readonly isDone: boolean
}

/** Tries all cases with one tool and watches it from outside. */
export async function judgeTool(tool: Tool, program: string): Promise<Column> {
  const see = async (session: Parameters<typeof watch>[1], iterations: number): Promise<Seen> => {
    const watched = await watch(tool.setUp(program, iterations), session, WINDOW_SECONDS * 1000)
    return { ...watched, isDone: tool.isDone(watched) }
  }
  const times = timesAt(Date.now(), RESET_SECONDS)
  const plain = await see(PLAIN_FAILURE, 3)
  const limits = await inTurns(LIMITS, async (limit) =>
    // With one iteration, a second call is a retry that does not count as an iteration.
    judgeLimit(limit, await see(limit.say(times), limit.want === 'retry' ? 1 : 3), plain),
  )
  const markers = await inTurns(MARKERS, async ({ say, isDone }) => {
    const seen = await see(say(tool.marker), 2)
    return cell(seen, isDone ? seen.isDone && seen.calls.length === 1 : !seen.isDone)
  })
  const silent = await see(succeeds(PROGRESS), 2)
  const remark = `${tool.remark}. A failure without a word of limits: ${describe(plain)}. Success without a marker: ${describe(silent)}`
  return { name: `${tool.name} ${tool.version}`, limits, markers, remark }
}

function judgeLimit({ want }: LimitCase, seen: Seen, plain: Seen): Cell {
  if (want === 'retry') return cell(seen, !seen.isDone && seen.calls.length > 1)
  const isAlike = describe(seen) === describe(plain)
  if (want === 'fail') return cell(seen, !seen.isDone && isAlike)
  const isWaiting = seen.code === undefined && seen.calls.length === 1
  if (isWaiting && isAlike) return { verdict: '?', seen: 'it waits as long after any failure' }
  return cell(seen, isWaiting && !seen.isDone)
}

function cell(seen: Seen, isRight: boolean): Cell {
  if (seen.calls.length > 0) return judged(isRight, describe(seen))
  return { verdict: '?', seen: `it never called claude (${lastLine(seen)})` }
}

function describe({ calls, code, isDone }: Seen): string {
  const end = code === undefined ? `still ran after ${WINDOW_SECONDS} s` : `exit code ${code}`
  return `${countOf(calls)}, ${end}, ${isDone ? 'done' : 'not done'}`
}

function lastLine({ output }: Seen): string {
  return Bun.stripANSI(output).trim().split('\n').at(-1)?.slice(0, 100) ?? ''
}

async function inTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = []
  for (let index = 0; index < items.length; index += AT_ONCE) {
    results.push(...(await Promise.all(items.slice(index, index + AT_ONCE).map(work))))
  }
  return results
}
