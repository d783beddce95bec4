import { QueueError } from '../queue/refusal.ts'
import type { End } from '../queue/task.ts'

/** The room that a result has where the store refuses one as too big; undefined: that is not it. */
export function roomFor(error: unknown): number | undefined {
  if (!(error instanceof QueueError)) return undefined
  const { refusal } = error
  return refusal.kind === 'too_big' && refusal.what === 'result' ? refusal.limit : undefined
}

/**
 * An end that fits into so many bytes: the middle is cut, because the beginning and the end of what
 * is said may be about it. `whole` says how to see all of it.
 */
export function fitted(end: End, room: number, whole: string): End {
  if (end.success) return { ...end, output: cut(end.output, room, whole) }
  const error = cut(end.error, Math.ceil(room / 2), whole)
  const rest = room - Buffer.byteLength(error)
  const { partialOutput: partial } = end
  return {
    ...end,
    error,
    ...(partial === undefined ? {} : { partialOutput: cut(partial, rest, whole) }),
  }
}

function cut(text: string, room: number, whole: string): string {
  const bytes = Buffer.from(text)
  if (bytes.length <= room) return text
  const note = `\n… (the middle is cut; the whole: ${whole})\n`
  const half = Math.floor((room - Buffer.byteLength(note)) / 2)
  if (half <= 0) return wholeText(bytes.subarray(0, room))
  return `${wholeText(bytes.subarray(0, half))}${note}${wholeText(bytes.subarray(-half))}`
}

/** Without the halves of letters at its ends. */
function wholeText(bytes: Buffer): string {
  const isInside = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80
  let from = 0
  while (isInside(bytes[from])) from += 1
  // A letter has four bytes at most: the last one is left out where it is not whole.
  for (let to = bytes.length; to > Math.max(from, bytes.length - 4); to--) {
    const text = bytes.subarray(from, to).toString('utf8')
    if (!text.endsWith('\uFFFD')) return text
  }
  return bytes
    .subarray(from)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')
}
