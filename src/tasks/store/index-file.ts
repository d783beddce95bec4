import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import type { Task } from '../task.ts'
import { folderIdentity, type FileStamp } from './folder.ts'
import { isOwnFolder, isRealFile } from './foreign-links.ts'
import { makeLocal } from './local-folder.ts'
import { UNFINISHED_INDEX } from './moves.ts'
import type { TaskFolders } from '../folders.ts'

/** A cache of the task files: a line with a checksum, then JSON. */
interface Index {
  /** A time before the stamps were taken. */
  readonly seenAt: number
  /** Sorted as in `list`. */
  readonly rows: readonly (readonly [FileStamp, Task])[]
}

/** Increase it when the format changes. */
const VERSION = 8

/** File times are coarse: a file that changed just before its stamp was taken may have changed again. */
const DOUBT_MS = 50

interface Known {
  /** Sorted as in `list`. */
  readonly tasks: readonly Task[]
  /** The files that have to be read. */
  readonly changed: readonly string[]
}

/** Finds the files of a folder that have not changed since the index was written. */
export function findUnchanged(
  folders: TaskFolders,
  folder: ReadonlyMap<string, FileStamp | null>,
): Known {
  const { seenAt, rows } = readIndex(folders)
  const changed = new Set(folder.keys())
  const tasks: Task[] = []
  for (const [old, task] of rows) {
    const now = folder.get(task.file)
    const isSame =
      now?.mtimeMs === old.mtimeMs &&
      now.ctimeMs === old.ctimeMs &&
      now.size === old.size &&
      now.ino === old.ino
    if (!isSame || old.mtimeMs > seenAt - DOUBT_MS) continue
    tasks.push(task)
    changed.delete(task.file)
  }
  return { tasks, changed: [...changed] }
}

/** A missing, damaged or older index is empty. */
function readIndex(folders: TaskFolders): Index {
  try {
    const path = pathOf(folders)
    const content = isTrusted(folders) && isRealFile(path) ? readFileSync(path, 'utf8') : ''
    const end = content.indexOf('\n') + 1
    const json = content.slice(end)
    // The checksum proves that we wrote it.
    if (content.slice(0, end) === checksumLine(json, folders)) return JSON.parse(json) as Index
  } catch {
    // Every file is read.
  }
  return { seenAt: 0, rows: [] }
}

/** Includes the identity of the folder, because an index that came with an archive would show wrong tasks. */
function checksumLine(json: string, { own }: TaskFolders): string {
  return `${new Bun.CryptoHasher('sha256').update(`${VERSION} ${folderIdentity(own)} ${json}`).digest('hex')}\n`
}

/** If the folder is read-only, no index is written. */
export function writeIndex(
  folders: TaskFolders,
  tasks: readonly Task[],
  folder: ReadonlyMap<string, FileStamp | null>,
  seenAt: number,
): void {
  const rows = tasks.flatMap((task) => {
    const stamp = folder.get(task.file)
    return stamp ? [[stamp, task] as const] : []
  })
  const json = JSON.stringify({ seenAt, rows } satisfies Index)
  try {
    if (!isTrusted(folders)) return
    makeLocal(folders.own, folders)
    const as = { durable: false, unfinished: UNFINISHED_INDEX }
    writeFileAtomic(pathOf(folders), checksumLine(json, folders) + json, as)
  } catch {
    // Every file is read the next time.
  }
}

/** A link in its place may point anywhere. */
function isTrusted(folders: TaskFolders): boolean {
  return isOwnFolder(folders.own, folders)
}

function pathOf(folders: TaskFolders): string {
  return join(folders.own, 'index')
}
