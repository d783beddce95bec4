import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { makeLinks, type Links } from '../links.ts'
import { inListOrder, type Task } from '../task.ts'
import type { Folder } from './fingerprints.ts'
import {
  decodeIds,
  decodeIndex,
  encodeIndex,
  encodeTexts,
  fitsIn,
  joinRows,
  makeReader,
  priorityNumber,
  splitRows,
  statusNumber,
  type Columns,
} from './index-format.ts'
import { isOwnFolder, isRealFile } from './links.ts'
import { makeLocal } from './local-folder.ts'
import { UNFINISHED_INDEX } from './moves.ts'
import type { Places } from './places.ts'

/** What is still true of what was known when the index was written. */
export interface Known {
  /** In the order of a list. */
  readonly tasks: readonly Task[]
  /** Whether no two of them have the same id. */
  readonly isUnique: boolean
  /** Places of the files that have to be read. */
  readonly changed: readonly number[]
  /** Where nothing has changed, and no two tasks have the same id. */
  readonly links: Links | undefined
}

/** Clocks of file systems tick slowly: what changed at about the time of the index may have changed again. */
const DOUBT_MS = 50

/** What was known last; undefined where there is no index. */
export function readIndex(places: Places): Columns | undefined {
  return load(places, decodeIndex)
}

/** Takes from the index what has not changed since. */
export function takeKnown(columns: Columns | undefined, folder: Folder): Known {
  if (columns === undefined) {
    const changed = folder.files.map((_, at) => at)
    return { tasks: [], isUnique: true, changed, links: undefined }
  }
  const isSameListing = columns.listing !== 0n && columns.listing === folder.listing
  const rowOf = isSameListing ? undefined : matchFiles(splitRows(columns.files), folder.files)
  const isKnown = new Uint8Array(columns.order.length)
  const changed: number[] = []
  const { prints } = folder
  const { mtimes, sizes, inodes } = columns
  const sureUntil = columns.writtenAt - DOUBT_MS
  for (let at = 0; at < folder.files.length; at++) {
    const row = rowOf === undefined ? at : rowOf[at]!
    const mtime = prints.mtimes[at]!
    const isSame =
      row !== NO_ROW &&
      mtimes[row] === mtime &&
      sizes[row] === prints.sizes[at] &&
      inodes[row] === prints.inodes[at] &&
      mtime <= sureUntil
    if (isSame) isKnown[row] = 1
    else changed.push(at)
  }
  const readTask = makeReader(columns)
  const tasks: Task[] = []
  const { order, isUnique } = columns
  for (let place = 0; place < order.length; place++) {
    const row = order[place]!
    if (isKnown[row] === 1) tasks.push(readTask(row))
  }
  // The links are by place in the whole list.
  const isWhole = isUnique && changed.length === 0 && tasks.length === order.length
  return { tasks, isUnique, changed, links: isWhole ? columns.links : undefined }
}

/** The ids inside of files by what was known last, and the files of which nothing was. */
export interface KnownIds {
  /** Only those that differ from the beginning of the file's name. */
  readonly ids: readonly string[]
  readonly unknown: readonly string[]
}

/** Faster than to see whether each file is still the same: a name is rarely given to another task. */
export function readIndexedIds(places: Places, files: readonly string[]): KnownIds {
  const known = load(places, decodeIds)
  if (known === undefined) return { ids: [], unknown: files }
  const rowOf = matchFiles(splitRows(known.files), files)
  const inside = splitRows(known.ids)
  const ids: string[] = []
  const unknown: string[] = []
  for (let at = 0; at < files.length; at++) {
    const file = files[at]!
    const id = inside[rowOf[at]!]
    if (id === undefined) unknown.push(file)
    else if (!file.startsWith(id) || file[id.length] !== ' ') ids.push(id)
  }
  return { ids, unknown }
}

/** The index is a cache: whatever is wrong with it, it counts as missing. */
function load<Part>(
  places: Places,
  decode: (bytes: Uint8Array) => Part | undefined,
): Part | undefined {
  try {
    const path = pathOf(places)
    return isBelieved(places) && isRealFile(path) ? decode(readFileSync(path)) : undefined
  } catch {
    return undefined
  }
}

const NO_ROW = -1

/** So many names in a row may be gone, or new, without looking up each of them. */
const FEW = 16

/**
 * The row of each file. A folder lists its files in the same order each time, and what is new comes
 * somewhere in between: so nearly always the next file is the next row.
 */
function matchFiles(rows: readonly string[], files: readonly string[]): Int32Array {
  const rowOf = new Int32Array(files.length).fill(NO_ROW)
  let [row, missed] = [0, 0]
  for (let at = 0; at < files.length && missed <= FEW; at++) {
    let next = row
    while (next < row + FEW && rows[next] !== files[at]) next++
    if (rows[next] === files[at]) {
      rowOf[at] = next
      row = next + 1
    } else missed++
  }
  return missed <= FEW ? rowOf : lookUpFiles(rows, files)
}

function lookUpFiles(rows: readonly string[], files: readonly string[]): Int32Array {
  const known = new Map(rows.map((file, row) => [file, row]))
  return Int32Array.from(files, (file) => known.get(file) ?? NO_ROW)
}

/**
 * `seenAt` is from before the fingerprints were taken: later changes have to show. A folder that cannot
 * be written costs speed, nothing else.
 */
export function writeIndex(
  places: Places,
  unsorted: readonly Task[],
  folder: Folder,
  seenAt: number,
): void {
  const { files, prints } = folder
  // In the order of the folder, so that the names need not be looked up one by one.
  const byFile = new Map(unsorted.map((task) => [task.file, task]))
  const indexed = files.flatMap((file, at) => {
    const task = byFile.get(file)
    return task !== undefined && fitsIn(task) ? [{ task, at }] : []
  })
  const tasks = indexed.map(({ task }) => task)
  const rows = tasks.map((_, row) => row).toSorted((a, b) => inListOrder(tasks[a]!, tasks[b]!))
  const pick = (column: Float64Array) => Float64Array.from(indexed, ({ at }) => column[at]!)
  const columns: Columns = {
    writtenAt: seenAt,
    // Without a row for each file, the places of files are no rows.
    listing: tasks.length === files.length ? folder.listing : 0n,
    isUnique: new Set(tasks.map(({ id }) => id)).size === tasks.length,
    mtimes: pick(prints.mtimes),
    sizes: pick(prints.sizes),
    inodes: pick(prints.inodes),
    order: Uint32Array.from(rows),
    statuses: Uint8Array.from(tasks, statusNumber),
    priorities: Uint8Array.from(tasks, priorityNumber),
    links: makeLinks(rows.map((row) => tasks[row]!)),
    files: joinRows(tasks.map(({ file }) => file)),
    texts: encodeTexts(tasks),
  }
  try {
    if (!isBelieved(places)) return
    makeLocal(places.own, places)
    const as = { durable: false, unfinished: UNFINISHED_INDEX }
    writeFileAtomic(pathOf(places), encodeIndex(columns), as)
  } catch {
    // Without an index every file is read.
  }
}

/** Takes the index away, so that the next look reads every file. */
export function forgetIndex(places: Places): void {
  try {
    if (isBelieved(places)) rmSync(pathOf(places), { force: true })
  } catch {
    // Where nothing can be written, the index stays as it is.
  }
}

/** Beside the tasks there may be a link that leads anywhere. */
function isBelieved(places: Places): boolean {
  return places.own !== places.local || isOwnFolder(places.local, places)
}

function pathOf(places: Places): string {
  return join(places.own, 'index')
}
