import { join } from 'node:path'
import { lstatOf } from '../../base/files.ts'

const STORE = 'queue.sqlite'

/** In the record of the run, which all its processes can reach. */
export function storePath(record: string): string {
  return join(record, STORE)
}

export function hasStore(record: string): boolean {
  return lstatOf(storePath(record)) !== undefined
}
