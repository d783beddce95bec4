import { rmSync, writeFileSync } from 'node:fs'
import { errorCode } from '../../base/errors.ts'

/** As much as SQLite wants at once for what it keeps beside the store. */
const BYTES = 64 * 1024

const NO_ROOM = ['ENOSPC', 'EDQUOT']

/** Whether nothing more can be written beside a file: tried, since quotas are in no figures of the disk. */
export function isDiskFull(place: string): boolean {
  const trial = `${place}-room-${process.pid}`
  try {
    writeFileSync(trial, Buffer.alloc(BYTES), { flag: 'wx', mode: 0o600 })
    return false
  } catch (error) {
    return NO_ROOM.includes(errorCode(error) ?? '')
  } finally {
    rmSync(trial, { force: true })
  }
}
