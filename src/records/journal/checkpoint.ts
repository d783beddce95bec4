import { closeSync, fstatSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { parseJson } from '../../base/json.ts'
import type { RunState } from '../events/state.ts'
import { openIn, readTextIn } from './inside.ts'
import { EVENTS } from './paths.ts'

export function checkpointPath(folder: string): string {
  return join(folder, CHECKPOINT)
}

const CHECKPOINT = 'checkpoint.json'

/** Raised whenever `RunState` changes, so that checkpoints of older versions are ignored. */
const FORMAT = 7

/** So many bytes before the offset show to which events a checkpoint belongs. */
const TAIL_BYTES = 4096

/** The state after the events up to an offset, so that they need not be read again. */
export interface Checkpoint {
  readonly offset: number
  /** Number of the last event before the offset. */
  readonly seq: number
  readonly state: RunState
  /** Describes what is missing before the offset. */
  readonly damage?: readonly string[]
}

/** A checkpoint as it is on disk. */
interface Stored extends Checkpoint {
  /** Hash of the last bytes before the offset. */
  readonly tail: string
}

/** Only a cache: losing it costs only time. */
export function writeCheckpoint(folder: string, checkpoint: Checkpoint): void {
  try {
    const fd = openIn(folder, EVENTS)
    try {
      const stored: Stored = { ...checkpoint, tail: hashTail(fd, checkpoint.offset) }
      const text = JSON.stringify({ form: FORMAT, sum: hash(JSON.stringify(stored)), ...stored })
      writeFileAtomic(checkpointPath(folder), text, { durable: false, mode: 0o600 })
    } finally {
      closeSync(fd)
    }
  } catch {
    // Other writes report disk problems.
  }
}

/** The last checkpoint if it is intact; its offset may be after the end of a damaged events file. */
export function readCheckpoint(folder: string): Stored | undefined {
  try {
    const read = parseJson(readTextIn(folder, CHECKPOINT))
    const { form, sum, ...stored } = read as Stored & { form: unknown; sum: unknown }
    return form === FORMAT && sum === hash(JSON.stringify(stored)) ? stored : undefined
  } catch {
    return undefined
  }
}

/** Whether a checkpoint was made of the events in this file, up to its offset. */
export function isMadeOf(fd: number, { offset, tail }: Stored): boolean {
  return fstatSync(fd).size >= offset && hashTail(fd, offset) === tail
}

function hashTail(fd: number, offset: number): string {
  const bytes = Buffer.alloc(Math.min(TAIL_BYTES, offset))
  readSync(fd, bytes, 0, bytes.length, offset - bytes.length)
  return hash(bytes)
}

function hash(content: string | Uint8Array): string {
  return new Bun.CryptoHasher('sha256').update(content).digest('hex')
}
