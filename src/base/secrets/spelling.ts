import type { Reader } from './characters.ts'
import type { Needle } from './needles.ts'

// A known value is not searched in a list of encodings. It is matched part by part from a position
// where it may begin, and each part may be written in any way that programs use. Needles show where to
// try. To make sure that every occurrence contains a needle, the beginning of an occurrence may be
// irregular (escaped, wrapped, with a gap) only as long as one needle stays intact.

/** A way to write a value, as a sequence of parts. */
export interface Spelling {
  readonly needles: readonly Needle[]
  /** How many of the first parts may be missing, because they are on the previous line. */
  readonly skippable: number
  /** Whether parts may be missing only at the start of a line. */
  readonly skipsAtLineStart: boolean
  /** The possible first two bytes, as Latin-1; a single one if any byte may follow it. */
  beginnings(skipped: number): readonly string[]
  /** The end of an occurrence that begins at `start`, or -1. */
  match(reader: Reader, start: number, skipped: number): number
}

/** The most bytes from the beginning of an occurrence to the end of its first needle. */
export const LONGEST_BEGINNING = 256

/** How many alternative readings of an occurrence are tried. */
export const MOST_TRIES = 60

/** The most bytes of an escaped line break and the indentation after it. */
export const MOST_OF_WRAP = 48
