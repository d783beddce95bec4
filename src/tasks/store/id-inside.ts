import { join } from 'node:path'
import { readTextFile } from '../../base/files.ts'
import { readId, type TaskId } from '../id.ts'
import { readTaskFile, TASK_LIMIT_BYTES } from './scan.ts'

/** As new tasks are written: to parse the rest as well takes longer than to read the file. */
const USUAL_ID = /^---\nid: (\S+)\n/

/** Where the rest cannot be read. */
const ID_LINE = /^\uFEFF?(?:---|<{7})[\s\S]*?\nid:[ \t]*["']?([\w-]+)/

/** The id that is written in a file, also in one that cannot be used otherwise. */
export function idInside(folder: string, file: string): TaskId | undefined {
  const path = join(folder, file)
  const read = readTextFile(path, TASK_LIMIT_BYTES)
  const text = read.kind === 'text' ? read.text : ''
  const usual = USUAL_ID.exec(text)?.[1]
  if (usual !== undefined) return readId(usual)
  const task = readTaskFile(path, file)
  if (!('problem' in task)) return readId(task.id)
  const written = ID_LINE.exec(text)?.[1]
  return written === undefined ? undefined : readId(written)
}
