import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode, errorText } from '../../base/errors.ts'
import { readTextFile } from '../../base/files.ts'
import { BrokenFile } from '../text/frontmatter.ts'
import { readFingerprints } from './fingerprints.ts'
import { loadIndex, saveIndex, type Indexed } from './index-file.ts'
import type { Places } from './places.ts'
import { inListOrder, parseTask, type Task } from '../task.ts'

/** A file that cannot be used, and why. */
export interface Broken {
  readonly file: string
  readonly line: number
  readonly problem: string
}

export interface Scan {
  /** By priority, then by age. */
  readonly tasks: readonly Task[]
  readonly broken: readonly Broken[]
}

/** So many changed files are read anew each time rather than writing the index again. */
const CHANGES_WORTH_WRITING = 16

/** Every task of the folder; what did not change since the last time comes from the index. */
export function scanTasks(places: Places): Scan {
  const index = loadIndex(places)
  const files = listFiles(places.tasks)
  const prints = readFingerprints(places.tasks, files)
  // By rows of the index, which are in the order of a list: so there is little left to sort.
  const known = new Int32Array(index.length).fill(-1)
  const changed: number[] = []
  for (let at = 0; at < files.length; at++) {
    const row = index.rowOf(files[at]!, prints, at)
    if (row === undefined) changed.push(at)
    else known[row] = at
  }
  const entries: Indexed[] = []
  for (let row = 0; row < known.length; row++) {
    if (known[row]! >= 0) entries.push({ task: index.task(row), at: known[row]! })
  }
  const broken = readChanged(places, files, changed, entries)
  if (changed.length > 0) entries.sort((a, b) => inListOrder(a.task, b.task))
  if (changed.length > CHANGES_WORTH_WRITING || changed.length > index.length)
    saveIndex(places, entries, prints)
  return refuseTwins(entries, broken)
}

/** Adds what the index does not know to the entries, and gives what cannot be used. */
function readChanged(
  { tasks }: Places,
  files: readonly string[],
  changed: readonly number[],
  entries: Indexed[],
): Broken[] {
  const broken: Broken[] = []
  for (const at of changed) {
    const file = files[at]!
    const path = join(tasks, file)
    const task = readTaskFile(path, file)
    if (!('problem' in task)) entries.push({ task, at })
    // A file that was archived in the meantime is no broken one.
    else if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) broken.push(task)
  }
  return broken
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
  const tasks = [...byId.values()]
  return { tasks: byId.size === entries.length ? tasks : tasks.toSorted(inListOrder), broken }
}
