import { join } from 'node:path'
import { readTextFile } from '../../base/files.ts'
import { readId, type TaskId } from '../id.ts'
import { readTaskFile, TASK_LIMIT_BYTES } from './scan.ts'

/** Matches files as forge-tasks writes them, without parsing the frontmatter. */
const USUAL_ID = /^---\nid: (\S+)\n/

/** For files that cannot be parsed. */
const ID_LINE = /^\uFEFF?(?:---|<{7})[\s\S]*?\nid:[ \t]*["']?([\w-]+)/

/** The id that is written in a file, even if the file is otherwise unreadable. */
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
