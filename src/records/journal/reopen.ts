import {
  closeSync,
  constants,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { lstatOf } from '../../base/files.ts'
import { checkpointPath, readCheckpoint } from './checkpoint.ts'
import { findEnd } from './event-lines.ts'
import { joinTails } from './log-parts.ts'
import { eventsPath } from './read-run.ts'

const TAIL = /^(.*\.log)\.tail-\d+$/

/** Repairs what a dead process left incomplete, so that another can continue the record. */
export function repairRecord(folder: string): void {
  const fd = openSync(eventsPath(folder), constants.O_RDWR | constants.O_NOFOLLOW)
  try {
    const end = findEnd(fd)
    ftruncateSync(fd, end)
    const last = Buffer.from('\n')
    if (end > 0) readSync(fd, last, 0, 1, end - 1)
    if (last.toString() !== '\n') writeSync(fd, '\n', end)
    // A power failure may lose the end of the events, but not a later checkpoint.
    if ((readCheckpoint(folder)?.offset ?? Infinity) > end)
      rmSync(checkpointPath(folder), { force: true })
  } finally {
    closeSync(fd)
  }
  const logs = ['steps', 'tasks'].flatMap((name) =>
    filesIn(join(folder, name)).flatMap((path) => TAIL.exec(path)?.[1] ?? []),
  )
  for (const log of new Set(logs)) joinTails(log)
}

/** Does not follow links, which may lead out of the record. */
function filesIn(folder: string): string[] {
  if (lstatOf(folder)?.isDirectory() !== true) return []
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return filesIn(path)
    return entry.isFile() ? [path] : []
  })
}
