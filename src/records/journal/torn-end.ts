import { fstatSync, ftruncateSync, readSync, writeSync } from 'node:fs'
import { parseEvent } from './event-lines.ts'

const WINDOW_BYTES = 64 * 1024
const NEWLINE = 10

/** Where the valid part of an events file ends after a crash. */
interface End {
  /** The offset after the last complete event. */
  readonly offset: number
  /** The length of the rest: a cut line, or zeros after a power failure. */
  readonly tornBytes: number
  /** Whether the last event lacks only its newline. */
  readonly isOpen: boolean
}

export function findEnd(fd: number): End {
  const { size } = fstatSync(fd)
  for (let window = WINDOW_BYTES; ; window *= 2) {
    const start = Math.max(0, size - window)
    const bytes = Buffer.allocUnsafe(size - start)
    const got = bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, start))
    const found = lastWhole(got, start === 0)
    if (found !== undefined) {
      const offset = start + found.end
      return { offset, tornBytes: size - offset, isOpen: found.isOpen }
    }
    if (start === 0) return { offset: 0, tornBytes: size, isOpen: false }
  }
}

/** Cuts off an incomplete end, and completes the last line. */
export function repairEnd(fd: number): void {
  const { offset, tornBytes, isOpen } = findEnd(fd)
  if (tornBytes > 0) ftruncateSync(fd, offset)
  if (isOpen) writeSync(fd, '\n', offset)
}

/** The end of the last line that is an event; undefined if `bytes` contain no complete one. */
function lastWhole(bytes: Buffer, isAll: boolean): { end: number; isOpen: boolean } | undefined {
  let end = bytes.length
  while (end > 0) {
    const isOpen = bytes[end - 1] !== NEWLINE
    const last = isOpen ? end : end - 1
    const before = last === 0 ? -1 : bytes.lastIndexOf(NEWLINE, last - 1)
    if (before === -1 && !isAll) return undefined
    const line = bytes.toString('utf8', before + 1, last)
    if (parseEvent(line) !== undefined) return { end, isOpen }
    end = before + 1
  }
  return undefined
}
