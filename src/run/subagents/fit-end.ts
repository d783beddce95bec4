import { QueueError } from '../../queue/refusal.ts'
import type { End } from '../../queue/task.ts'

/** The size limit if this error is the store refusing a result as too big. */
export function resultLimit(error: unknown): number | undefined {
  if (!(error instanceof QueueError)) return undefined
  const { refusal } = error
  return refusal.kind === 'too_big' && refusal.what === 'result' ? refusal.limit : undefined
}

/**
 * Cuts the middle of an end to fit `room` bytes, because the beginning and the end of an output tend to
 * matter most. `whole` is the command that shows all of it.
 */
export function truncateEnd(end: End, room: number, whole: string): End {
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
  const note = `\n… (middle omitted; full text: ${whole})\n`
  const half = Math.floor((room - Buffer.byteLength(note)) / 2)
  if (half <= 0) return wholeText(bytes.subarray(0, room))
  return `${wholeText(bytes.subarray(0, half))}${note}${wholeText(bytes.subarray(-half))}`
}

/** Drops incomplete characters at both ends. */
function wholeText(bytes: Buffer): string {
  const isInside = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80
  let from = 0
  while (isInside(bytes[from])) from += 1
  // A UTF-8 character has at most four bytes.
  for (let to = bytes.length; to > Math.max(from, bytes.length - 4); to--) {
    const text = bytes.subarray(from, to).toString('utf8')
    if (!text.endsWith('\uFFFD')) return text
  }
  return bytes
    .subarray(from)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')
}
