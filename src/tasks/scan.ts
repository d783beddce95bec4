import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode, errorText } from '../base/errors.ts'
import { readTextFile, statOf } from '../base/files.ts'
import { BrokenFile } from './frontmatter.ts'
import { loadIndex, saveIndex, type Fingerprint, type Indexed } from './index-file.ts'
import type { Places } from './places.ts'
import { parseTask, type Task } from './task.ts'

/** A file that cannot be used, and why. */
export interface Broken {
  readonly file: string
  readonly line: number
  readonly problem: string
}

export interface Scan {
  readonly tasks: readonly Task[]
  readonly broken: readonly Broken[]
}

/** So many changed files are read anew each time rather than writing the index again. */
const CHANGES_WORTH_WRITING = 16

/** Every task of the folder; what did not change since the last time comes from the index. */
export function scanTasks(places: Places): Scan {
  const index = loadIndex(places)
  const files = new Set(listFiles(places.tasks))
  const entries: Indexed[] = []
  // In the order of the index, which is that of a list: so there is nothing left to sort.
  for (const file of index.files) {
    if (!files.has(file)) continue
    const fingerprint = fingerprintOf(join(places.tasks, file))
    const task = index.find(file, fingerprint)
    if (task === undefined) continue
    files.delete(file)
    entries.push({ fingerprint, task })
  }
  const broken: Broken[] = []
  for (const file of files) {
    const path = join(places.tasks, file)
    const fingerprint = fingerprintOf(path)
    const task = readTaskFile(path, file)
    // A file that was archived in the meantime is no broken one.
    if ('problem' in task && lstatSync(path, { throwIfNoEntry: false }) === undefined) continue
    if ('problem' in task) broken.push(task)
    else entries.push({ fingerprint, task })
  }
  if (files.size > CHANGES_WORTH_WRITING || files.size > index.files.length)
    saveIndex(places, entries)
  return refuseTwins(entries, broken)
}

function fingerprintOf(path: string): Fingerprint {
  const stat = statOf(path)
  return { mtime: stat?.mtimeMs ?? 0, size: stat?.size ?? 0, inode: stat?.ino ?? 0 }
}

/** Names of the files that are tasks, or should be. */
export function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.md') && !name.startsWith('.'))
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return []
    throw error
  }
}

export const TASK_LIMIT_BYTES = 16 * 1024 * 1024

/** The text of a task file; throws `BrokenFile` where it is none that could be written back. */
export function readTaskText(path: string): string {
  const file = readTextFile(path, TASK_LIMIT_BYTES)
  if (file.kind === 'text') return file.text
  const problem = file.kind === 'missing' ? 'is a symbolic link that leads nowhere' : file.problem
  throw new BrokenFile(`it ${problem}`, 1)
}

export function readTaskFile(path: string, file: string): Task | Broken {
  try {
    return parseTask(readTaskText(path), file)
  } catch (error) {
    if (error instanceof BrokenFile) return { file, line: error.line, problem: error.message }
    return { file, line: 1, problem: errorText(error) }
  }
}

/** Of two files with one id the older one keeps it. */
function refuseTwins(entries: readonly Indexed[], broken: Broken[]): Scan {
  const byId = new Map<string, Task>()
  for (const { task } of entries) {
    const twin = byId.get(task.id)
    const [older, younger] =
      twin === undefined || task.createdAt < twin.createdAt ? [task, twin] : [twin, task]
    byId.set(task.id, older)
    if (younger === undefined) continue
    const problem = `its id ${task.id} is also that of "${older.file}"; run: forge-tasks doctor --fix`
    broken.push({ file: younger.file, line: 1, problem })
  }
  return { tasks: [...byId.values()], broken }
}
