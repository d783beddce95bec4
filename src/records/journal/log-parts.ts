import {
  closeSync,
  constants,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorCode } from '../../base/errors.ts'
import { lstatOf, statOf, writeAll } from '../../base/files.ts'
import { openIn } from './inside.ts'

/** How much of the beginning and the end of an iteration's output is kept. */
export const HEAD_BYTES = 4 * 1024 * 1024
export const TAIL_BYTES = 4 * 1024 * 1024

const NOTICE = /^\n\[forkhestra\] (\d+) bytes left out here\n/
const NOTICE_LENGTH = 80

/** A contiguous range of the output in one file. */
interface Part {
  readonly path: string
  /** Offset in the output. */
  readonly from: number
  /** Offset in the file. */
  readonly at: number
  readonly length: number
}

/** The file for the output from an offset on; the name keeps the offset in case of a crash. */
export function tailPath(log: string, from: number): string {
  return `${log}.tail-${from}`
}

/** Appends the kept end of the output to the head. Can be repeated after a crash, even one during this call. */
export function joinTails(log: string): void {
  const tails = tailsOf(log)
  if (tails.length === 0) return
  if (joinedParts(log) === undefined) {
    const end = Math.max(...tails.map(({ from, length }) => from + length))
    const start = Math.max(HEAD_BYTES, end - TAIL_BYTES)
    // Bytes lost in a power failure become zeros, so that all others keep their offset.
    const kept = Buffer.alloc(end - start)
    for (const tail of tails) {
      const from = Math.max(start, tail.from)
      kept.set(readPart(tail, from, end), from - start)
    }
    const left = start - HEAD_BYTES
    const notice = left > 0 ? `\n[forkhestra] ${left} bytes left out here\n` : ''
    const fd = openSync(log, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW)
    try {
      ftruncateSync(fd, HEAD_BYTES)
      writeAll(fd, Buffer.concat([Buffer.from(notice), kept]))
    } finally {
      closeSync(fd)
    }
  }
  for (const { path } of tails) rmSync(path, { force: true })
}

/** What is kept of a range of the output, even while it is written; undefined if nothing is. */
export function readLog(log: string, offset: number, length: number): Uint8Array | undefined {
  for (let tries = 3; ; tries--) {
    try {
      const pieces = partsOf(log, offset + length).map((part) =>
        readPart(part, offset, offset + length),
      )
      const kept = Buffer.concat(pieces)
      return kept.length === 0 && length > 0 ? undefined : kept
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw error
      // The process that writes the log has just joined the parts.
      if (tries === 0) return undefined
    }
  }
}

/** How much has been printed into a log, including what was left out. */
export function endOfLog(log: string): number {
  return Math.max(...partsOf(log, Infinity).map(({ from, length }) => from + length))
}

function partsOf(log: string, end: number): Part[] {
  const { size } = statSync(log)
  const whole = { path: log, from: 0, at: 0, length: size }
  if (end <= Math.min(size, HEAD_BYTES)) return [whole]
  const joined = joinedParts(log)
  if (joined !== undefined) return joined
  const tails = tailsOf(log)
  if (tails.length === 0) return [whole]
  return [{ ...whole, length: Math.min(size, HEAD_BYTES) }, ...tails]
}

/** The parts of a log with omitted bytes whose end is joined completely. */
function joinedParts(log: string): Part[] | undefined {
  const size = statOf(log)?.size ?? 0
  const head = { path: log, from: 0, at: 0, length: HEAD_BYTES }
  const text = readPart({ ...head, length: size }, HEAD_BYTES, HEAD_BYTES + NOTICE_LENGTH)
  const [notice, left] = NOTICE.exec(text.toString('latin1')) ?? []
  if (notice === undefined) return undefined
  const at = HEAD_BYTES + notice.length
  if (size !== at + TAIL_BYTES) return undefined
  return [head, { path: log, from: HEAD_BYTES + Number(left), at, length: TAIL_BYTES }]
}

function tailsOf(log: string): Part[] {
  const folder = dirname(log)
  const beginning = tailPath(basename(log), 0).slice(0, -1)
  return readdirSync(folder)
    .filter((name) => name.startsWith(beginning) && lstatOf(join(folder, name))?.isFile() === true)
    .map((name) => {
      const path = join(folder, name)
      return {
        path,
        from: Number(name.slice(beginning.length)),
        at: 0,
        length: statSync(path).size,
      }
    })
    .toSorted((a, b) => a.from - b.from)
}

/** The bytes of a part between two offsets of the output. */
function readPart({ path, from, at, length }: Part, start: number, end: number): Buffer {
  const first = Math.max(from, start)
  const size = Math.min(from + length, end) - first
  if (size <= 0) return Buffer.alloc(0)
  const bytes = Buffer.allocUnsafe(size)
  const fd = openIn(dirname(path), basename(path))
  try {
    return bytes.subarray(0, readSync(fd, bytes, 0, size, at + first - from))
  } finally {
    closeSync(fd)
  }
}
