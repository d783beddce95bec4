import { closeSync, fstatSync, openSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { statOf } from '../base/files.ts'
import { checkpointPath, readCheckpoint } from './checkpoint.ts'
import { joinTails } from './log-parts.ts'
import { eventsPath } from './read-run.ts'
import { mendEnd } from './torn.ts'

const TAIL = /^(.*\.log)\.tail-\d+$/

/** Puts in order what a process that died left half done, so that another can go on. */
export function mendRecord(folder: string): void {
  const fd = openSync(eventsPath(folder), 'r+')
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
  if (statOf(folder) === undefined) return
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const logs = new Set(names.flatMap((name) => TAIL.exec(name)?.[1] ?? []))
  for (const log of logs) joinTails(join(folder, log))
  for (const name of names) {
    if (name.endsWith('.json') && statOf(join(folder, name))?.size === 0) rmSync(join(folder, name))
  }
}

/** A power failure may take the end of the events and leave the checkpoint that speaks of it. */
function forgetCheckpointBehind(folder: string, end: number): void {
  if (readCheckpoint(folder, end) === undefined) rmSync(checkpointPath(folder), { force: true })
}
