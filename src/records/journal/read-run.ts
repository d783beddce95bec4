import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { lstatOf } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import type { EventOf } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import { isValidState } from '../events/valid-state.ts'
import { next } from '../events/fold.ts'
import { NO_EVENTS, type RunState } from '../events/state.ts'
import { isMadeOf, readCheckpoint, type Checkpoint } from './checkpoint.ts'
import { findEnd, parseEvent, readLines } from './event-lines.ts'
import { openIn, pathIn, readTextIn } from './inside.ts'
import { readLog } from './log-parts.ts'
import { EVENTS } from './paths.ts'

export const PLAN = 'plan.json'

export interface ReadState {
  readonly state: RunState
  readonly seq: number
  /** Descriptions of missing events. */
  readonly damage: readonly string[]
}

/** Reads the state of a run from its checkpoint and the events after it. */
export function readRunState(folder: string): ReadState {
  const fd = openIn(folder, EVENTS)
  try {
    const end = findEnd(fd)
    const saved = readCheckpoint(folder)
    const isUsable = saved !== undefined && saved.offset <= end && isMadeOf(fd, saved)
    const read = replay(fd, end, isUsable ? saved : undefined)
    const isHeadless = read.seq > 0 && read.state.startedAt === undefined
    const { state, seq, damage } = isHeadless && saved ? replayRest(fd, end, saved) : read
    if (!isValidState(state)) throw new Error(`${eventsPath(folder)} is damaged`)
    // The checkpoint covers events that the file has lost.
    const lost = saved !== undefined && saved.seq > seq ? [describeMissing(seq + 1, saved.seq)] : []
    return { state, seq, damage: [...damage, ...lost] }
  } finally {
    closeSync(fd)
  }
}

/** The state after a checkpoint and the events of the file that are not in it. */
function replayRest(fd: number, end: number, saved: Checkpoint): ReadState {
  const lost = 'the beginning of events.ndjson cannot be read'
  return replay(fd, end, { ...saved, offset: 0, damage: [...(saved.damage ?? []), lost] })
}

function replay(fd: number, end: number, from?: Checkpoint): ReadState {
  let { state, seq } = from ?? { state: NO_EVENTS, seq: 0 }
  const damage = [...(from?.damage ?? [])]
  let isBroken = false
  for (const { text } of readLines(fd, from?.offset, end)) {
    const event = parseEvent(text)
    const isKnown = event?.seq !== undefined && from !== undefined && event.seq <= from.seq
    if (event === undefined) isBroken = true
    else if (!isKnown) state = next(state, event)
    if (event?.seq === undefined) continue
    if (event.seq > seq + 1) damage.push(describeMissing(seq + 1, event.seq - 1))
    else if (isBroken && !isKnown) damage.push(`a line after event ${seq} cannot be read`)
    seq = Math.max(seq, event.seq)
    isBroken = false
  }
  return { state, seq, damage }
}

function describeMissing(from: number, to: number): string {
  return from === to ? `event ${from} is missing` : `events ${from} to ${to} are missing`
}

/** The plan of a run, and the version of forkhestra that made it. */
interface RecordedPlan {
  readonly version: string
  readonly plan: unknown
}

/** The newest plan of a run: from the events if its own file is missing or damaged. */
export function readPlan(folder: string): RecordedPlan | undefined {
  try {
    return parseJson(readTextIn(folder, PLAN)) as RecordedPlan
  } catch {
    let newest: RecordedPlan | undefined
    for (const { event } of readEvents(folder)) {
      if (event.type !== 'run_started' && event.type !== 'run_resumed') continue
      const { version, plan } = event
      if (plan !== undefined) newest = { version, plan }
    }
    return newest
  }
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
    for (const { text, end: offset } of readLines(fd, from)) {
      const event = parseEvent(text)
      if (event !== undefined) yield { event, offset }
    }
  } finally {
    closeSync(fd)
  }
}

/** The events of some types; none if there is no file. */
export function* readEventsOf<Type extends RunEvent['type']>(
  folder: string,
  types: readonly Type[],
): Generator<EventOf<Type>> {
  const isWanted = (event: RunEvent): event is EventOf<Type> =>
    types.some((type) => type === event.type)
  if (lstatOf(eventsPath(folder))?.isFile() !== true) return
  for (const { event } of readEvents(folder)) if (isWanted(event)) yield event
}

/** The bytes that an output event refers to, as far as they are in its log; undefined if none are. */
export function readOutput(folder: string, event: EventOf<'output'>): Uint8Array | undefined {
  const { log, offset = 0, bytes = 0 } = event
  const path = log === undefined ? undefined : pathIn(folder, log)
  if (path === undefined || lstatOf(path)?.isFile() !== true) return undefined
  return readLog(path, offset, bytes)
}

export function eventsPath(folder: string): string {
  return join(folder, EVENTS)
}
