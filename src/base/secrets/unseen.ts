// oxlint-disable no-control-regex

/** After this many bytes, the end of a control sequence is not waited for. */
const LONGEST_SEQUENCE = 4096

// Bytes, as Latin-1.
const CSI = String.raw`(?:\x1b\[|\xc2\x9b)[0-?]*[ -/]*`
const STRING = String.raw`\x1b[\]PX^_][^\x00-\x1f\x7f]*`
/** Control characters except tab and line ends, and characters without width. */
const CHARACTER = [
  String.raw`[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]`,
  String.raw`\xc2[\x80-\x9f\xad]`,
  String.raw`\xe2\x80[\x8b-\x8f\xaa-\xae]`,
  String.raw`\xe2\x81[\xa0-\xaf]`,
  String.raw`\xef\xbb\xbf`,
].join('|')
const UNSEEN = new RegExp(
  String.raw`${CSI}[@-~]?|${STRING}(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]?|${CHARACTER}`,
  'g',
)
/** An incomplete one at the end of the bytes. */
const CUT = new RegExp(
  String.raw`(?:${CSI}|${STRING}\x1b?|\x1b[ -/]*|\xc2|\xe2[\x80\x81]?|\xef\xbb?)$`,
)

/** The bytes to search, and their positions in the original bytes. */
export interface Seen {
  readonly bytes: Uint8Array
  /** The original bytes between two positions. */
  raw(from: number, to: number): Uint8Array
  /** Only the unseen bytes between two positions. */
  unseen(from: number, to: number): Uint8Array
  /** The original bytes from a position on. */
  rest(from: number): Uint8Array
}

const NOTHING = new Uint8Array(0)

export function asTheyAre(bytes: Uint8Array): Seen {
  return {
    bytes,
    raw: (from, to) => bytes.subarray(from, to),
    unseen: () => NOTHING,
    rest: (from) => bytes.subarray(from),
  }
}

/** Control characters, and the first bytes of characters without width. */
const IS_HINT = Uint8Array.from({ length: 256 }, (_, byte) => {
  const isControl = (byte < 32 && ![9, 10, 13].includes(byte)) || byte === 127
  return Number(isControl || [0xc2, 0xe2, 0xef].includes(byte))
})

/** A quick check of four bytes at a time, because most output has no unseen bytes. */
export function mayHaveUnseen(bytes: Uint8Array): boolean {
  const { buffer, byteOffset, length } = bytes
  const head = (4 - (byteOffset % 4)) % 4
  if (length < head) return hasHint(bytes, 0, length)
  const words = new Int32Array(buffer, byteOffset + head, (length - head) >> 2)
  if (hasHint(bytes, 0, head)) return true
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index]!
    // Is any byte below 32 or above 126?
    const signs = (word - 0x20202020) | 0 | ((word + 0x01010101) | 0) | word
    if ((signs & 0x80808080) === 0) continue
    const at = head + index * 4
    if (hasHint(bytes, at, at + 4)) return true
  }
  return hasHint(bytes, head + words.length * 4, length)
}

function hasHint(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) {
    if (IS_HINT[bytes[at]!] === 1 && isUnseenAt(bytes, at)) return true
  }
  return false
}

/** True for a character that the end cuts off, because it may be an unseen one. */
function isUnseenAt(bytes: Uint8Array, at: number): boolean {
  const [first, second, third] = [bytes[at]!, bytes[at + 1], bytes[at + 2]]
  if (first < 0x80 || second === undefined) return true
  if (first === 0xc2) return second < 0xa0 || second === 0xad
  if (first === 0xef) return second === 0xbb && (third === undefined || third === 0xbf)
  if (second !== 0x80 && second !== 0x81) return false
  if (third === undefined || second === 0x81) return true
  return (third >= 0x8b && third <= 0x8f) || (third >= 0xaa && third <= 0xae)
}

/**
 * Removes colours, control characters and characters without width: a terminal does not show them, so
 * they must not hide a secret from the search.
 */
export function withoutUnseen(chunk: Uint8Array, isEnd: boolean): Seen {
  const text = latin1Of(chunk)
  const cut = isEnd ? -1 : text.slice(-LONGEST_SEQUENCE).search(CUT)
  const end = cut === -1 ? text.length : Math.max(0, text.length - LONGEST_SEQUENCE) + cut
  const pieces: Piece[] = []
  let [from, length] = [0, 0]
  const add = (to: number) => {
    if (to > from) pieces.push({ at: length, raw: from })
    length += to - from
  }
  for (const { index, 0: sequence } of text.matchAll(UNSEEN)) {
    if (index >= end) break
    add(index)
    from = index + sequence.length
  }
  if (from < end) add(end)
  const ends = pieces.map(({ at, raw }, index) => raw + (pieces[index + 1]?.at ?? length) - at)
  const bytes = Buffer.concat(pieces.map(({ raw }, index) => chunk.subarray(raw, ends[index])))
  const place = (at: number) => {
    if (at >= length) return Math.max(end, from)
    const piece = pieces[lastAtOrBefore(pieces, at)]!
    return piece.raw + at - piece.at
  }
  return {
    bytes,
    // Unseen bytes at the start belong to the first byte.
    raw: (start, stop) => chunk.subarray(start === 0 ? 0 : place(start), place(stop)),
    unseen: (start, stop) => {
      const within = latin1Of(chunk.subarray(place(start), place(stop)))
      return Buffer.from(Array.from(within.matchAll(UNSEEN), String).join(''), 'latin1')
    },
    rest: (start) => chunk.subarray(place(start)),
  }
}

/** The start of a run of searched bytes, in both positions. */
interface Piece {
  readonly at: number
  readonly raw: number
}

function lastAtOrBefore(pieces: readonly Piece[], at: number): number {
  let [low, high] = [0, pieces.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (pieces[middle]!.at <= at) low = middle
    else high = middle - 1
  }
  return low
}

function latin1Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}
