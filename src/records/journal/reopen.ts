import { closeSync, constants, fstatSync, openSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { lstatOf, statOf } from '../../base/files.ts'
import { checkpointPath, readCheckpoint } from './checkpoint.ts'
import { joinTails } from './log-parts.ts'
import { eventsPath } from './read-run.ts'
import { repairEnd } from './torn-end.ts'

const TAIL = /^(.*\.log)\.tail-\d+$/

/** Repairs what a dead process left incomplete, so that another can continue the record. */
export function repairRecord(folder: string): void {
  const fd = openSync(eventsPath(folder), constants.O_RDWR | constants.O_NOFOLLOW)
  try {
    repairEnd(fd)
    dropCheckpointBeyond(folder, fstatSync(fd).size)
  } finally {
    closeSync(fd)
  }
  for (const name of ['steps', 'tasks']) repairFiles(join(folder, name))
}

/** Joins the parts of logs, and removes empty receipts of iterations that did not end. */
function repairFiles(folder: string): void {
  const names = filesIn(folder)
  const logs = new Set(names.flatMap((name) => TAIL.exec(name)?.[1] ?? []))
  for (const log of logs) joinTails(log)
  for (const name of names) {
    if (name.endsWith('.json') && statOf(name)?.size === 0) rmSync(name)
  }
}

/** A power failure may lose the end of the events but not the checkpoint after it. */
function dropCheckpointBeyond(folder: string, end: number): void {
  const offset = readCheckpoint(folder)?.offset ?? Infinity
  if (offset > end) rmSync(checkpointPath(folder), { force: true })
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
