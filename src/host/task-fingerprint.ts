import { join } from 'node:path'
import { readFolder, type FileStamp } from '../tasks/store/folder.ts'
import { readTaskText } from '../tasks/store/scan.ts'
import { parseTask } from '../tasks/task.ts'
import { splitFile } from '../tasks/text/fields.ts'

interface Known {
  readonly stamp: FileStamp
  readonly print: string
}

/** Clocks of file systems tick slowly: what changed just now may change again in the same tick. */
const DOUBT_MS = 50

/**
 * Makes a hash of what the tasks in a folder say, empty where there are none. Who is at a task, or was,
 * does not count. Only files that changed since the last time are read.
 */
export function makeTaskFingerprint(): (folder: string) => string {
  let known = new Map<string, Known>()
  return (folder) => {
    const seenAt = Date.now()
    const files = readFolder(folder)
    if (files.size === 0) return ''
    const next = new Map<string, Known>()
    const prints = [...files].map(([file, stamp]) => {
      const last = known.get(file)
      const isSame = last !== undefined && Bun.deepEquals(last.stamp, stamp)
      const print = isSame ? last.print : printTask(folder, file)
      if (stamp !== null && stamp.mtimeMs <= seenAt - DOUBT_MS) next.set(file, { stamp, print })
      return print
    })
    known = next
    return hash(prints.toSorted().join(' '))
  }
}

function printTask(folder: string, file: string): string {
  const text = readOrNothing(join(folder, file))
  return hash(tellTask(text, file) ?? `${file}\0${text}`)
}

function readOrNothing(path: string): string {
  try {
    return readTaskText(path)
  } catch {
    return ''
  }
}

/** What is work in a task; undefined for a file that is none. */
function tellTask(text: string, file: string): string | undefined {
  try {
    const { id, title, status, priority, labels, dependencies, parent, due } = parseTask(text, file)
    // Whoever takes a task, or gives it back, changes it from one to the other.
    const state = status === 'In Progress' ? 'To Do' : status
    const fields = [id, title, state, priority, labels, dependencies, parent, due]
    return JSON.stringify([...fields, ...workLines(text.slice(splitFile(text).body))])
  } catch {
    return undefined
  }
}

/** Where a task is taken back from an iteration, such a note is left, if need be below a new heading. */
const NO_WORK = /^(?:An attempt by .* ended without a result: .*|## Implementation Notes|)$/

function workLines(body: string): string[] {
  return body.split('\n').filter((line) => !NO_WORK.test(line.trim()))
}

function hash(text: string): string {
  return Bun.hash.wyhash(text).toString(36)
}
