import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeFileAtomic } from '../../base/atomic-write.ts'
import { makeLinks, type Links } from '../links.ts'
import { inListOrder, type Task } from '../task.ts'
import type { Folder } from './folder.ts'
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
import { isOwnFolder, isRealFile } from './foreign-links.ts'
import { makeLocal } from './local-folder.ts'
import { UNFINISHED_INDEX } from './moves.ts'
import type { Places } from './places.ts'

/** The part of the index that is still valid. */
export interface Known {
  /** Sorted as in `list`. */
  readonly tasks: readonly Task[]
  /** Whether all ids are different. */
  readonly isUnique: boolean
  /** Positions of the files that have to be read. */
  readonly changed: readonly number[]
  /** Only if nothing has changed and all ids are different. */
  readonly links: Links | undefined
}

/** File times are coarse: a file that changed just before the index was written may have changed again. */
const DOUBT_MS = 50

export function readIndex(places: Places): Columns | undefined {
  return load(places, decodeIndex)
}

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
  // Links refer to positions in the complete list.
  const isWhole = isUnique && changed.length === 0 && tasks.length === order.length
  return { tasks, isUnique, changed, links: isWhole ? columns.links : undefined }
}

export interface KnownIds {
  /** Only ids that differ from the one in the file name. */
  readonly ids: readonly string[]
  readonly unknown: readonly string[]
}

/** Does not check whether files have changed, because a file rarely gets another id. */
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

/** The index is a cache: a broken one counts as missing. */
function load<Part>(
  places: Places,
  decode: (bytes: Uint8Array) => Part | undefined,
): Part | undefined {
  try {
    const path = pathOf(places)
    return isTrusted(places) && isRealFile(path) ? decode(readFileSync(path)) : undefined
  } catch {
    return undefined
  }
}

const NO_ROW = -1

/** How many names may be missing or new before every name is looked up. */
const FEW = 16

/** The row of each file. Listings keep their order, so the next file is nearly always the next row. */
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

/** `seenAt` is a time before the fingerprints were taken. If the folder is read-only, no index is written. */
export function writeIndex(
  places: Places,
  unsorted: readonly Task[],
  folder: Folder,
  seenAt: number,
): void {
  const { files, prints } = folder
  // In the order of the folder, which `matchFiles` relies on.
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
    // Only if each file has a row are positions in the folder also rows.
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
    if (!isTrusted(places)) return
    makeLocal(places.own, places)
    const as = { durable: false, unfinished: UNFINISHED_INDEX }
    writeFileAtomic(pathOf(places), encodeIndex(columns), as)
  } catch {
    // Without an index every file is read.
  }
}

/** Deletes the index, so that the next scan reads every file. */
export function deleteIndex(places: Places): void {
  try {
    if (isTrusted(places)) rmSync(pathOf(places), { force: true })
  } catch {
    // In a read-only folder the index stays.
  }
}

/** A link in its place may lead anywhere. */
function isTrusted(places: Places): boolean {
  return isOwnFolder(places.own, places)
}

function pathOf(places: Places): string {
  return join(places.own, 'index')
}
