import { join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { parseJson } from '../../base/json.ts'
import type { RunState } from '../events/state.ts'
import { readTextIn } from './inside.ts'

export function checkpointPath(folder: string): string {
  return join(folder, CHECKPOINT)
}

const CHECKPOINT = 'checkpoint.json'

/** Raised whenever `RunState` changes, so that checkpoints of older versions are ignored. */
const FORMAT = 6

/** The state after the events up to an offset, so that they need not be read again. */
export interface Checkpoint {
  readonly offset: number
  /** Number of the last event before the offset. */
  readonly seq: number
  readonly state: RunState
  /** Describes what is missing before the offset. */
  readonly damage?: readonly string[]
}

/** Only a cache: losing it costs only time. */
export function writeCheckpoint(folder: string, checkpoint: Checkpoint): void {
  try {
    const text = JSON.stringify({ form: FORMAT, sum: checksum(checkpoint), ...checkpoint })
    writeFileAtomic(checkpointPath(folder), text, { durable: false, mode: 0o600 })
  } catch {
    // Other writes report disk problems.
  }
}

/** The last checkpoint if it is intact; its offset may be after the end of a damaged events file. */
export function readCheckpoint(folder: string): Checkpoint | undefined {
  try {
    const read = parseJson(readTextIn(folder, CHECKPOINT))
    const { form, sum, ...checkpoint } = read as Checkpoint & { form: unknown; sum: unknown }
    return form === FORMAT && sum === checksum(checkpoint) ? checkpoint : undefined
  } catch {
    return undefined
  }
}

function checksum(checkpoint: Checkpoint): string {
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(checkpoint)).digest('hex')
}
