import { join } from 'node:path'
import { writeFileAtomic } from '../base/atomic-write.ts'
import { parseJson } from '../base/json.ts'
import type { RunState } from '../events/state.ts'
import { readTextIn } from './inside.ts'

export function checkpointPath(folder: string): string {
  return join(folder, CHECKPOINT)
}

const CHECKPOINT = 'checkpoint.json'

/** Raised whenever `RunState` changes, so that what an older version wrote is not believed. */
const FORM = 3

/** What the events up to an offset come to, so that nobody has to read them again. */
export interface Checkpoint {
  readonly offset: number
  /** Number of the last event before it. */
  readonly seq: number
  readonly state: RunState
  /** What is missing before it, in words. */
  readonly damage?: readonly string[]
}

/** Only a cache: it may be lost, and losing it costs nothing but time. */
export function writeCheckpoint(folder: string, checkpoint: Checkpoint): void {
  try {
    const text = JSON.stringify({ form: FORM, ...checkpoint })
    writeFileAtomic(checkpointPath(folder), text, { durable: false, mode: 0o600 })
  } catch {
    // Whatever is wrong with the disk is told by what cannot be done without.
  }
}

/** The last one, where it is whole; it may speak of more events than are left. */
export function readCheckpoint(folder: string): Checkpoint | undefined {
  try {
    const read = parseJson(readTextIn(folder, CHECKPOINT))
    const { form, ...checkpoint } = read as Checkpoint & { form: unknown }
    return form === FORM ? checkpoint : undefined
  } catch {
    return undefined
  }
}
