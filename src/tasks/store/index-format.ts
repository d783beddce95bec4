import type { Links } from '../links.ts'
import type { Task } from '../task.ts'
import { PRIORITIES, STATUSES, type Priority, type Status } from '../status.ts'
import type { Fingerprints } from './folder.ts'

/** The content of an index, column by column, in a form that needs no parsing. */
export interface Columns extends Fingerprints {
  readonly writtenAt: number
  /** The hash of the folder listing if rows and files correspond; 0 otherwise. */
  readonly listing: bigint
  /** Whether all ids are different. */
  readonly isUnique: boolean
  /** The rows sorted as in `list`. */
  readonly order: Uint32Array
  readonly statuses: Uint8Array
  readonly priorities: Uint8Array
  /** By position in `order`; valid only if all ids are different. */
  readonly links: Links
  /** The file names, joined by `joinRows`. */
  readonly files: string
  readonly texts: readonly string[]
}

const VERSION = 0x666f7206
const BETWEEN_ROWS = '\0'
const BETWEEN_COLUMNS = '\u0001'
const BETWEEN_ITEMS = '\u0002'
// oxlint-disable-next-line no-control-regex
const OTHER_SEPARATORS = /[\u0000\u0001]/

export function joinRows(rows: readonly string[]): string {
  return rows.join(BETWEEN_ROWS)
}

export function splitRows(column: string): string[] {
  return column.split(BETWEEN_ROWS)
}

type Text = (task: Task) => string

/** The text columns after the file names; the id is the first. */
const TEXTS: readonly Text[] = [
  ({ id }) => id,
  ({ title }) => title,
  ({ assignee = '' }) => assignee,
  ({ labels }) => labels.join(BETWEEN_ITEMS),
  ({ dependencies }) => dependencies.join(BETWEEN_ITEMS),
  ({ parent = '' }) => parent,
  ({ due = '' }) => due,
  ({ createdAt }) => createdAt,
]

/** Whether the texts of a task contain no separators. */
export function fitsIn(task: Task): boolean {
  const texts = [...TEXTS.map((text) => text(task)), task.file]
  const items = [...task.labels, ...task.dependencies]
  const isPlain = !texts.some((text) => OTHER_SEPARATORS.test(text))
  return isPlain && !items.some((item) => item.includes(BETWEEN_ITEMS))
}

export function encodeTexts(tasks: readonly Task[]): string[] {
  return TEXTS.map((text) => joinRows(tasks.map(text)))
}

export const statusNumber = (task: Task) => STATUSES.indexOf(task.status)

export const priorityNumber = (task: Task) =>
  task.priority === undefined ? PRIORITIES.length : PRIORITIES.indexOf(task.priority)

/** Returns tasks by row. Fields are read lazily, because most commands need few of them. */
export function makeReader(columns: Columns): (row: number) => Task {
  let files: readonly string[] | undefined
  const split: (readonly string[] | undefined)[] = []
  const text = (column: number, row: number) =>
    (split[column] ??= splitRows(columns.texts[column]!))[row]!
  class IndexedTask implements Task {
    // Not a #private field: those are slow until compiled, and a list creates thousands of tasks.
    readonly row: number

    constructor(row: number) {
      this.row = row
    }
    get id(): string {
      return text(0, this.row)
    }
    get title(): string {
      return text(1, this.row)
    }
    get status(): Status {
      return STATUSES[columns.statuses[this.row]!]!
    }
    get priority(): Priority | undefined {
      return PRIORITIES[columns.priorities[this.row]!]
    }
    get assignee(): string | undefined {
      return text(2, this.row) || undefined
    }
    get labels(): readonly string[] {
      return splitItems(text(3, this.row))
    }
    get dependencies(): readonly string[] {
      return splitItems(text(4, this.row))
    }
    get parent(): string | undefined {
      return text(5, this.row) || undefined
    }
    get due(): string | undefined {
      return text(6, this.row) || undefined
    }
    get createdAt(): string {
      return text(7, this.row)
    }
    get file(): string {
      return (files ??= splitRows(columns.files))[this.row]!
    }
  }
  return (row) => new IndexedTask(row)
}

const NO_ITEMS: readonly string[] = []

function splitItems(text: string): readonly string[] {
  return text === '' ? NO_ITEMS : text.split(BETWEEN_ITEMS)
}

const HEADER_BYTES = 40

/** The size of the checksum, which covers everything after it. */
const CHECKED_FROM = 8

/** Header, three columns of 8 bytes, two of 4 and the links, two of 1, then the texts. */
function startOfTexts(count: number, links: number): number {
  return HEADER_BYTES + count * (3 * 8) + (2 * count + 1 + links) * 4 + count * 2
}

export function encodeIndex(columns: Columns): Uint8Array {
  const count = columns.order.length
  const text = Buffer.from([columns.files, ...columns.texts].join(BETWEEN_COLUMNS))
  const { starts, targets } = columns.links
  const bytes = new Uint8Array(startOfTexts(count, targets.length) + text.length)
  const isUnique = Number(columns.isUnique)
  new Uint32Array(bytes.buffer, 8, 4).set([VERSION, count, isUnique, targets.length])
  new Float64Array(bytes.buffer, 24, 1).set([columns.writtenAt])
  new BigUint64Array(bytes.buffer, 32, 1).set([columns.listing])
  let at = HEADER_BYTES
  const { mtimes, sizes, inodes, order, statuses, priorities } = columns
  for (const column of [mtimes, sizes, inodes, order, starts, targets, statuses, priorities]) {
    bytes.set(new Uint8Array(column.buffer, column.byteOffset, column.byteLength), at)
    at += column.byteLength
  }
  bytes.set(text, at)
  new BigUint64Array(bytes.buffer, 0, 1).set([checksum(bytes)])
  return bytes
}

function checksum(bytes: Uint8Array): bigint {
  return Bun.hash(bytes.subarray(CHECKED_FROM))
}

function decodeHeader(buffer: ArrayBufferLike) {
  const header = new Uint32Array(buffer, 8, 4)
  return { version: header[0]!, count: header[1]!, isUnique: header[2] === 1, links: header[3]! }
}

/** A corrupted index would show wrong tasks. */
function isWhole(bytes: Uint8Array): boolean {
  if (bytes.length < HEADER_BYTES) return false
  return new BigUint64Array(bytes.buffer, bytes.byteOffset, 1)[0] === checksum(bytes)
}

/** Undefined if the version differs or the checksum does not match. */
export function decodeIndex(bytes: Uint8Array): Columns | undefined {
  const aligned = bytes.byteOffset === 0 ? bytes : bytes.slice()
  const { buffer } = aligned
  if (!isWhole(aligned)) return undefined
  const { version, count, isUnique, links } = decodeHeader(buffer)
  if (version !== VERSION) return undefined
  let at = HEADER_BYTES
  const next = (width: number, length = count) => (at += length * width) - length * width
  const columns = {
    writtenAt: new Float64Array(buffer, 24, 1)[0]!,
    listing: new BigUint64Array(buffer, 32, 1)[0]!,
    isUnique,
    mtimes: new Float64Array(buffer, next(8), count),
    sizes: new Float64Array(buffer, next(8), count),
    inodes: new Float64Array(buffer, next(8), count),
    order: new Uint32Array(buffer, next(4), count),
    links: {
      starts: new Uint32Array(buffer, next(4, count + 1), count + 1),
      targets: new Int32Array(buffer, next(4, links), links),
    },
    statuses: new Uint8Array(buffer, next(1), count),
    priorities: new Uint8Array(buffer, next(1), count),
  }
  const text = decodeText(new Uint8Array(buffer, at, bytes.length - at))
  const [files = '', ...texts] = text.split(BETWEEN_COLUMNS)
  return texts.length === TEXTS.length ? { ...columns, files, texts } : undefined
}

function decodeText(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

/** Decodes only file names and ids; undefined as for `decodeIndex`. */
export function decodeIds(bytes: Uint8Array): { files: string; ids: string } | undefined {
  const aligned = bytes.byteOffset === 0 ? bytes : bytes.slice()
  const { buffer } = aligned
  if (!isWhole(aligned)) return undefined
  const { version, count, links } = decodeHeader(buffer)
  if (version !== VERSION) return undefined
  const text = new Uint8Array(buffer, startOfTexts(count, links))
  const separator = BETWEEN_COLUMNS.charCodeAt(0)
  const end = text.indexOf(separator)
  const endOfIds = text.indexOf(separator, end + 1)
  if (end === -1 || endOfIds === -1) return undefined
  const ids = decodeText(text.subarray(end + 1, endOfIds))
  return { files: decodeText(text.subarray(0, end)), ids }
}
