import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { lstatOf } from '../base/files.ts'
import type { EventOf } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import { next, NO_EVENTS, type RunState } from '../events/state.ts'
import { readCheckpoint } from './checkpoint.ts'
import { Damage } from './damage.ts'
import { beginningOf, beginsWith, parseEvent } from './event-lines.ts'
import { openIn, pathIn } from './inside.ts'
import { readPlanFile, type RecordedPlan } from './plan-file.ts'
import { LineReader } from './line-reader.ts'
import { readLog } from './log-parts.ts'
import { findEnd } from './torn.ts'

export const EVENTS = 'events.ndjson'

const OUTPUT = beginningOf('output')
const WITH_PLAN = [beginningOf('run_started'), beginningOf('run_resumed')]

/** Types that change no state; in a long run nearly everything is of them. */
const PASSED_OVER = (
  ['message', 'tool', 'output', 'limit', 'warning', 'marker_refused', 'command'] as const
).map(beginningOf)

/** The state of a run, the number of its last event, and what a crash left behind that. */
export interface ReadState {
  readonly state: RunState
  readonly seq: number
  readonly tornBytes: number
  /** What is missing before its end, in words. */
  readonly damage: readonly string[]
}

/** What the events of a run have come to. */
export function readState(folder: string): ReadState {
  return withEvents(folder, (fd) => {
    const { offset: end, tornBytes } = findEnd(fd)
    const saved = readCheckpoint(folder)
    const from = saved !== undefined && saved.offset <= end ? saved : undefined
    let { state, seq } = from ?? { state: NO_EVENTS, seq: 0 }
    const lines = new LineReader(fd, from?.offset ?? 0, end)
    /** Where the last line with a number is that was not looked into. */
    let unread: number | undefined
    const damage = new Damage(seq)
    while (lines.next()) {
      if (isAnyOf(PASSED_OVER, lines)) {
        if (isAnyOf([OUTPUT], lines)) continue
        unread = lines.offset
        damage.pass()
        continue
      }
      const event = parseEvent(lines.text)
      if (event === undefined) damage.break()
      else state = next(state, event)
      if (event?.seq === undefined) continue
      ;[seq, unread] = [event.seq, undefined]
      damage.take(seq)
    }
    if (unread !== undefined) {
      seq = seqAt(fd, unread, end) ?? seq
      damage.end(seq)
    }
    // The file is shorter than it was.
    if (from === undefined) damage.endBefore(saved?.seq ?? 0)
    return { state, seq, tornBytes, damage: [...(from?.damage ?? []), ...damage.words] }
  })
}

/** The newest plan of a run and the version of forkhestra that made it. */
export function readPlan(folder: string): RecordedPlan | undefined {
  return readPlanFile(folder) ?? findPlan(folder)
}

function findPlan(folder: string): RecordedPlan | undefined {
  return withEvents(folder, (fd) => {
    let newest: RecordedPlan | undefined
    const lines = new LineReader(fd)
    while (lines.next()) {
      if (!isAnyOf(WITH_PLAN, lines)) continue
      const event = parseEvent(lines.text)
      if (event?.type !== 'run_started' && event?.type !== 'run_resumed') continue
      const { version, plan } = event
      if (plan !== undefined) newest = { version, plan }
    }
    return newest
  })
}

/**
 * The events from a place in the file on, each with the place behind it, from which a later call can
 * go on. What is there when they are asked for is read; what a crash cut off is passed over.
 */
export function* readEvents(
  folder: string,
  from = 0,
): Generator<{ event: RunEvent; offset: number }, void, undefined> {
  const fd = openIn(folder, EVENTS)
  try {
    const lines = new LineReader(fd, from)
    while (lines.next()) {
      const event = parseEvent(lines.text)
      if (event !== undefined) yield { event, offset: lines.nextOffset }
    }
  } finally {
    closeSync(fd)
  }
}

/** What its log keeps of the bytes that an event tells of; undefined where it keeps none of them. */
export function readOutput(folder: string, event: EventOf<'output'>): Uint8Array | undefined {
  const { log, offset = 0, bytes = 0 } = event
  const path = log === undefined ? undefined : pathIn(folder, log)
  if (path === undefined || lstatOf(path)?.isFile() !== true) return undefined
  return readLog(path, offset, bytes)
}

export function eventsPath(folder: string): string {
  return join(folder, EVENTS)
}

function withEvents<Result>(folder: string, read: (fd: number) => Result): Result {
  const fd = openIn(folder, EVENTS)
  try {
    return read(fd)
  } finally {
    closeSync(fd)
  }
}

function isAnyOf(beginnings: readonly Buffer[], { bytes, from, to }: LineReader): boolean {
  for (const beginning of beginnings) if (beginsWith(bytes, from, to, beginning)) return true
  return false
}

function seqAt(fd: number, offset: number, end: number): number | undefined {
  const line = new LineReader(fd, offset, end)
  return line.next() ? parseEvent(line.text)?.seq : undefined
}
