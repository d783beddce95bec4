/** A part of a stream. */
export interface Part {
  readonly bytes: Uint8Array
  /** The last characters before it. */
  readonly before: string
  /** Whether it is the last part. */
  readonly isEnd: boolean
}

/** The last three characters before a position, as Latin-1. */
export function charactersBefore({ bytes, before }: Part, at: number): string {
  if (at < 3) return (before + latin1(bytes, 0, at)).slice(-3)
  return String.fromCharCode(bytes[at - 3]!, bytes[at - 2]!, bytes[at - 1]!)
}

/** Line ends may be escaped, as in JSON, and lines may be indented. */
export function isLineStart(part: Part, at: number): boolean {
  return /(?:\n {0,2}|\\n|%0[Aa])$/.test(charactersBefore(part, at))
}

export function latin1(bytes: Uint8Array, from: number, to: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('latin1')
}
