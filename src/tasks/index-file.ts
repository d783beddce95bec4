import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../base/atomic-write.ts'
import type { Places } from './places.ts'
import { ignoreLocal } from './change.ts'
import { inListOrder, type Task } from './task.ts'
import { PRIORITIES, STATUSES } from './words.ts'

/** By what a file is recognised as unchanged. */
export interface Fingerprint {
  readonly mtime: number
  readonly size: number
  readonly inode: number
}

export interface Indexed {
  readonly fingerprint: Fingerprint
  readonly task: Task
}

export interface Index {
  /** In the order of a list: by priority, then by age. */
  readonly files: readonly string[]
  find(file: string, fingerprint: Fingerprint): Task | undefined
}

/** Clocks of file systems tick slowly: what changed at about the time of the index may have changed again. */
const DOUBT_MS = 50

// Columns instead of rows: the engine reads long lists of one kind twice as fast as mixed ones.
interface Columns {
  readonly version: 1
  readonly writtenAt: number
  readonly files: readonly string[]
  readonly mtimes: readonly number[]
  readonly sizes: readonly number[]
  readonly inodes: readonly number[]
  readonly ids: readonly string[]
  readonly titles: readonly string[]
  readonly statuses: readonly number[]
  readonly priorities: readonly number[]
  readonly assignees: readonly (string | null)[]
  readonly labels: readonly (readonly string[])[]
  readonly dependencies: readonly (readonly string[])[]
  readonly parents: readonly (string | null)[]
  readonly dues: readonly (string | null)[]
  readonly createdAts: readonly string[]
}

const NO_INDEX: Index = { files: [], find: () => undefined }

/** The index is a cache: whatever is wrong with it, it counts as empty. */
export function loadIndex(places: Places): Index {
  let columns: Columns
  let rows: Map<string, number>
  try {
    columns = JSON.parse(readFileSync(pathOf(places), 'utf8')) as Columns
    if (columns.version !== 1 || columns.createdAts.length !== columns.files.length) return NO_INDEX
    rows = new Map(columns.files.map((file, row) => [file, row]))
  } catch {
    return NO_INDEX
  }
  const trusted = columns.writtenAt - DOUBT_MS
  return {
    files: columns.files,
    find(file, { mtime, size, inode }) {
      const row = rows.get(file)
      if (row === undefined || columns.mtimes[row] !== mtime || mtime > trusted) return undefined
      if (columns.sizes[row] !== size || columns.inodes[row] !== inode) return undefined
      return taskOf(columns, row)
    },
  }
}

function taskOf(columns: Columns, row: number): Task {
  return {
    id: columns.ids[row]!,
    title: columns.titles[row]!,
    status: STATUSES[columns.statuses[row]!]!,
    priority: PRIORITIES[columns.priorities[row]!],
    assignee: columns.assignees[row] ?? undefined,
    labels: columns.labels[row]!,
    dependencies: columns.dependencies[row]!,
    parent: columns.parents[row] ?? undefined,
    due: columns.dues[row] ?? undefined,
    createdAt: columns.createdAts[row]!,
    file: columns.files[row]!,
  }
}

/** A folder that cannot be written costs speed, nothing else. */
export function saveIndex(places: Places, unsorted: readonly Indexed[]): void {
  const entries = unsorted.toSorted((a, b) => inListOrder(a.task, b.task))
  const tasks = entries.map((entry) => entry.task)
  const columns: Columns = {
    version: 1,
    writtenAt: Date.now(),
    files: tasks.map((task) => task.file),
    mtimes: entries.map((entry) => entry.fingerprint.mtime),
    sizes: entries.map((entry) => entry.fingerprint.size),
    inodes: entries.map((entry) => entry.fingerprint.inode),
    ids: tasks.map((task) => task.id),
    titles: tasks.map((task) => task.title),
    statuses: tasks.map((task) => STATUSES.indexOf(task.status)),
    priorities: tasks.map((task) => (task.priority ? PRIORITIES.indexOf(task.priority) : -1)),
    assignees: tasks.map((task) => task.assignee ?? null),
    labels: tasks.map((task) => task.labels),
    dependencies: tasks.map((task) => task.dependencies),
    parents: tasks.map((task) => task.parent ?? null),
    dues: tasks.map((task) => task.due ?? null),
    createdAts: tasks.map((task) => task.createdAt),
  }
  try {
    mkdirSync(places.own, { recursive: true })
    ignoreLocal(places)
    writeFileAtomic(pathOf(places), JSON.stringify(columns), { durable: false })
  } catch {
    // Without an index every file is read.
  }
}

function pathOf(places: Places): string {
  return join(places.own, 'index.json')
}
