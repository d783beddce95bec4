import { fstatSync, readSync } from 'node:fs'
import { parseJson } from '../../base/json.ts'
import type { RunEvent } from '../events/schema.ts'

const CHUNK_BYTES = 256 * 1024
const NEWLINE = 10

/** Longer than any event. A sparse file from an archive can have lines of any length. */
export const MOST_BYTES = 256 * 1024 * 1024

/** The event of a line, or undefined if a crash left something else there. */
export function parseEvent(line: string): RunEvent | undefined {
  try {
    const event = parseJson(line)
    const isEvent = typeof event === 'object' && event !== null && 'type' in event
    return isEvent ? (event as RunEvent) : undefined
  } catch {
    return undefined
  }
}

interface Line {
  readonly text: string
  /** Offset of the next line. */
  readonly end: number
}

/** The lines of a file between two offsets; the last one may lack its newline. */
export function* readLines(fd: number, start = 0, end = Infinity): Generator<Line> {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  /** The line so far, if it began in an earlier chunk. */
  let begun: Buffer[] = []
  let length = 0
  let position = start
  for (;;) {
    const size = Math.max(0, Math.min(CHUNK_BYTES, end - position))
    const got = readSync(fd, chunk, 0, size, position)
    if (got === 0) break
    const bytes = chunk.subarray(0, got)
    let from = 0
    for (let to = bytes.indexOf(NEWLINE); to !== -1; to = bytes.indexOf(NEWLINE, from)) {
      const text =
        begun.length === 0 ? bytes.toString('utf8', from, to) : join(bytes.subarray(0, to))
      yield { text, end: position + to + 1 }
      from = to + 1
    }
    position += got
    if (from === got) continue
    begun.push(Buffer.from(bytes.subarray(from)))
    length += got - from
    if (length > MOST_BYTES) throw new Error('a line is too long for an event')
  }
  if (length > 0) yield { text: join(Buffer.alloc(0)), end: position }

  function join(last: Buffer): string {
    const text = Buffer.concat([...begun, last]).toString()
    begun = []
    length = 0
    return text
  }
}

/** The offset after the last complete event; a crash may leave a cut line or zeros after it. */
export function findEnd(fd: number): number {
  const { size } = fstatSync(fd)
  for (let window = CHUNK_BYTES; ; window *= 2) {
    const start = Math.max(0, size - window)
    const bytes = Buffer.allocUnsafe(size - start)
    const got = bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, start))
    const end = lastEventEnd(got, start === 0)
    if (end !== undefined) return start + end
    if (window > MOST_BYTES) throw new Error('the last event is not complete')
  }
}

/** Undefined if the last event begins before `bytes`. */
function lastEventEnd(bytes: Buffer, isWholeFile: boolean): number | undefined {
  for (let end = bytes.length; end > 0;) {
    const last = bytes[end - 1] === NEWLINE ? end - 1 : end
    const before = last === 0 ? -1 : bytes.lastIndexOf(NEWLINE, last - 1)
    if (before === -1 && !isWholeFile) return undefined
    if (parseEvent(bytes.toString('utf8', before + 1, last)) !== undefined) return end
    end = before + 1
  }
  return isWholeFile ? 0 : undefined
}
