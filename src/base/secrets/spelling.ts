// Bytes are searched as Latin-1 text, in which each character is a byte.
//
// A known value is not searched in a list of encodings. It is matched part by part from a position
// where it may begin, and each part may be written in any way that programs use.

/** A part of a stream. */
export interface Source {
  readonly text: string
  /** Set if text after the end was needed, so that more input could change the result. */
  ranOut: boolean
}

export const NONE = -1

/** A way to write a value, as a sequence of parts. */
export interface Spelling {
  /** How many of the first parts may be missing, because they are on the previous line. */
  readonly skippable: number
  /** Whether parts may be missing only at the start of a line. */
  readonly skipsAtLineStart: boolean
  /** The texts, of at least two characters, with which an occurrence can start. */
  starts(skipped: number): readonly string[]
  /** The end of an occurrence that begins at `start`, or -1. */
  match(source: Source, start: number, skipped: number): number
}
