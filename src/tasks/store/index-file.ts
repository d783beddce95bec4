import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { ignoreLocal } from './change.ts'
import type { Fingerprints } from './fingerprints.ts'
import type { Places } from './places.ts'
import type { Task } from '../task.ts'
import { PRIORITIES, STATUSES } from '../words.ts'

/** What was known of the tasks when the index was written, in the order of a list. */
export interface Index {
  readonly length: number
  /** The row of a file, where it has not changed since. */
  rowOf(file: string, prints: Fingerprints, at: number): number | undefined
  task(row: number): Task
}

/** Clocks of file systems tick slowly: what changed at about the time of the index may have changed again. */
const DOUBT_MS = 50

// Columns instead of rows, and long texts instead of lists of short ones: they are read twice as fast.
interface Columns {
  readonly version: 2
  readonly writtenAt: number
  readonly mtimes: readonly number[]
  readonly sizes: readonly number[]
  readonly inodes: readonly number[]
  readonly statuses: readonly number[]
  readonly priorities: readonly number[]
  readonly files: string
  readonly ids: string
  readonly titles: string
  readonly assignees: string
  readonly labels: string
  readonly dependencies: string
  readonly parents: string
  readonly dues: string
  readonly createdAts: string
}

const BETWEEN_ROWS = '\n'
const BETWEEN_ITEMS = '\t'

const NO_INDEX: Index = {
  length: 0,
  rowOf: () => undefined,
  task: () => {
    throw new Error('the index is empty')
  },
}

/** The index is a cache: whatever is wrong with it, it counts as empty. */
export function loadIndex(places: Places): Index {
  try {
    const columns = JSON.parse(readFileSync(pathOf(places), 'utf8')) as Columns
    return columns.version === 2 ? makeIndex(columns) : NO_INDEX
  } catch {
    return NO_INDEX
  }
}

function makeIndex(columns: Columns): Index {
  const { mtimes, sizes, inodes, statuses, priorities } = columns
  const files = columns.files.split(BETWEEN_ROWS)
  const texts = {
    ids: columns.ids.split(BETWEEN_ROWS),
    titles: columns.titles.split(BETWEEN_ROWS),
    assignees: columns.assignees.split(BETWEEN_ROWS),
    labels: columns.labels.split(BETWEEN_ROWS),
    dependencies: columns.dependencies.split(BETWEEN_ROWS),
    parents: columns.parents.split(BETWEEN_ROWS),
    dues: columns.dues.split(BETWEEN_ROWS),
    createdAts: columns.createdAts.split(BETWEEN_ROWS),
  }
  const rows = new Map<string, number>()
  for (let row = 0; row < mtimes.length; row++) rows.set(files[row]!, row)
  const isWhole = Object.values(texts).every((column) => column.length === files.length)
  if (!isWhole) return NO_INDEX
  const trusted = columns.writtenAt - DOUBT_MS
  return {
    length: mtimes.length,
    rowOf(file, prints, at) {
      const row = rows.get(file)
      const mtime = prints.mtimes[at]!
      if (row === undefined || mtimes[row] !== mtime || mtime > trusted) return undefined
      return sizes[row] === prints.sizes[at] && inodes[row] === prints.inodes[at] ? row : undefined
    },
    task: (row) => ({
      id: texts.ids[row]!,
      title: texts.titles[row]!,
      status: STATUSES[statuses[row]!]!,
      priority: PRIORITIES[priorities[row]!],
      assignee: texts.assignees[row] || undefined,
      labels: items(texts.labels[row]!),
      dependencies: items(texts.dependencies[row]!),
      parent: texts.parents[row] || undefined,
      due: texts.dues[row] || undefined,
      createdAt: texts.createdAts[row]!,
      file: files[row]!,
    }),
  }
}

const NONE: readonly string[] = []

function items(text: string): readonly string[] {
  return text === '' ? NONE : text.split(BETWEEN_ITEMS)
}

/** A task with its place in the fingerprints. */
export interface Indexed {
  readonly task: Task
  readonly at: number
}

/** A folder that cannot be written costs speed, nothing else. */
export function saveIndex(places: Places, entries: readonly Indexed[], prints: Fingerprints): void {
  const kept = entries.filter(({ task }) => fitsIn(task))
  const numbers = (column: Float64Array) => kept.map(({ at }) => column[at]!)
  const text = (value: (task: Task) => string | undefined) =>
    kept.map(({ task }) => value(task) ?? '').join(BETWEEN_ROWS)
  const columns: Columns = {
    version: 2,
    writtenAt: Date.now(),
    mtimes: numbers(prints.mtimes),
    sizes: numbers(prints.sizes),
    inodes: numbers(prints.inodes),
    statuses: kept.map(({ task }) => STATUSES.indexOf(task.status)),
    priorities: kept.map(({ task }) => (task.priority ? PRIORITIES.indexOf(task.priority) : -1)),
    files: text(({ file }) => file),
    ids: text(({ id }) => id),
    titles: text(({ title }) => title),
    assignees: text(({ assignee }) => assignee),
    labels: text(({ labels }) => labels.join(BETWEEN_ITEMS)),
    dependencies: text(({ dependencies }) => dependencies.join(BETWEEN_ITEMS)),
    parents: text(({ parent }) => parent),
    dues: text(({ due }) => due),
    createdAts: text(({ createdAt }) => createdAt),
  }
  try {
    mkdirSync(places.own, { recursive: true })
    ignoreLocal(places)
    writeFileAtomic(pathOf(places), JSON.stringify(columns), { durable: false })
  } catch {
    // Without an index every file is read.
  }
}

/** What has a line end or a tab inside is read from its file each time. */
function fitsIn({ labels, dependencies, ...task }: Task): boolean {
  const texts = [...Object.values(task), ...labels, ...dependencies]
  return !texts.some((text) => text !== undefined && /[\n\t]/.test(text))
}

function pathOf(places: Places): string {
  return join(places.own, 'index.json')
}
