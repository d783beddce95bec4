import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { lstatOf } from '../../base/files.ts'
import type { EventOf } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import { isValidState } from '../events/valid-state.ts'
import { next, NO_EVENTS, type RunState } from '../events/state.ts'
import { readCheckpoint } from './checkpoint.ts'
import { Damage } from './damage.ts'
import { prefixOf, hasPrefix, parseEvent } from './event-lines.ts'
import { openIn, pathIn } from './inside.ts'
import { readPlanFile, type RecordedPlan } from './plan-file.ts'
import { LineReader } from './line-reader.ts'
import { readLog } from './log-parts.ts'
import { findEnd } from './torn-end.ts'

export const EVENTS = 'events.ndjson'

const OUTPUT = prefixOf('output')
const WITH_PLAN = [prefixOf('run_started'), prefixOf('run_resumed')]

/** Types that change no state; in a long run, nearly all events. */
const STATELESS = (
  ['message', 'tool', 'output', 'limit', 'warning', 'marker_refused', 'command'] as const
).map(prefixOf)

/** The state of a run, the number of its last event, and the length of an incomplete end. */
export interface ReadState {
  readonly state: RunState
  readonly seq: number
  readonly tornBytes: number
  /** Descriptions of missing events. */
  readonly damage: readonly string[]
}

/** Reads the state of a run from its checkpoint and the events after it. */
export function readRunState(folder: string): ReadState {
  return withEvents(folder, (fd) => {
    const { offset: end, tornBytes } = findEnd(fd)
    const saved = readCheckpoint(folder)
    const from = saved !== undefined && saved.offset <= end ? saved : undefined
    let { state, seq } = from ?? { state: NO_EVENTS, seq: 0 }
    const lines = new LineReader(fd, from?.offset ?? 0, end)
    /** Offset of the last numbered line that was not parsed. */
    let unread: number | undefined
    const damage = new Damage(seq)
    while (lines.next()) {
      if (isAnyOf(STATELESS, lines)) {
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
    if (!isValidState(state)) throw new Error(`${eventsPath(folder)} is damaged`)
    // The checkpoint knows events that the file has lost.
    if (from === undefined) damage.endBefore(saved?.seq ?? 0)
    return { state, seq, tornBytes, damage: [...(from?.damage ?? []), ...damage.problems] }
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
 * The events from an offset on, each with the offset after it, from which a later call can continue.
 * Reads what is in the file at the moment, and skips incomplete lines.
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

/** The bytes that an output event refers to, as far as its log has them; undefined if it has none. */
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
  for (const beginning of beginnings) if (hasPrefix(bytes, from, to, beginning)) return true
  return false
}

function seqAt(fd: number, offset: number, end: number): number | undefined {
  const line = new LineReader(fd, offset, end)
  return line.next() ? parseEvent(line.text)?.seq : undefined
}
