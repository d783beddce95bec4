import { closeSync, constants, fstatSync, openSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { lstatOf, statOf } from '../base/files.ts'
import { checkpointPath, readCheckpoint } from './checkpoint.ts'
import { joinTails } from './log-parts.ts'
import { eventsPath } from './read-run.ts'
import { mendEnd } from './torn.ts'

const TAIL = /^(.*\.log)\.tail-\d+$/

/** Puts in order what a process that died left half done, so that another can go on. */
export function mendRecord(folder: string): void {
  const fd = openSync(eventsPath(folder), constants.O_RDWR | constants.O_NOFOLLOW)
  try {
    mendEnd(fd)
    forgetCheckpointBehind(folder, fstatSync(fd).size)
  } finally {
    closeSync(fd)
  }
  for (const name of ['steps', 'tasks']) mendFiles(join(folder, name))
}

/** What was printed is put together; the receipt of an iteration that did not end goes. */
function mendFiles(folder: string): void {
  const names = filesIn(folder)
  const logs = new Set(names.flatMap((name) => TAIL.exec(name)?.[1] ?? []))
  for (const log of logs) joinTails(log)
  for (const name of names) {
    if (name.endsWith('.json') && statOf(name)?.size === 0) rmSync(name)
  }
}

/** A power failure may take the end of the events and leave the checkpoint that speaks of it. */
function forgetCheckpointBehind(folder: string, end: number): void {
  const offset = readCheckpoint(folder)?.offset ?? Infinity
  if (offset > end) rmSync(checkpointPath(folder), { force: true })
}

/** Links are not followed: they may lead out of the record. */
function filesIn(folder: string): string[] {
  if (lstatOf(folder)?.isDirectory() !== true) return []
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return filesIn(path)
    return entry.isFile() ? [path] : []
  })
}
