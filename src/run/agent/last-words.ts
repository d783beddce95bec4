import { printableLines } from '../../base/terminal/printable.ts'
import type { Fact } from '../../engines/engine.ts'

/** Far below the size limit of a message. */
const LONGEST_CHARS = 199_800

/**
 * Texts are cut before secrets are masked, and half a secret is not recognised. At the cut, up to
 * this many characters are dropped until a line or a word ends.
 */
const SEAM_CHARS = 8192

/** Longer than any private key: a key without its first line is not recognised as a secret. */
const KEY_CHARS = 32_768

/** A UTF-16 code unit takes at most three bytes in UTF-8. */
const KEPT_BYTES = LONGEST_CHARS * 3

/** The last message of an agent, or the end of a program's output. */
export class LastWords {
  readonly #isStructured: boolean
  /** Kept separately: concatenating at every chunk would be quadratic. */
  readonly #pieces: Uint8Array[] = []
  #size = 0
  #hasLost = false
  #message = ''

  constructor(isStructured: boolean) {
    this.#isStructured = isStructured
  }

  take(fact: Fact): void {
    if (fact.type !== 'message' || fact.parent !== undefined) return
    const { text, follows } = fact
    this.#message = follows === undefined ? text : `${this.#message}${follows}${text}`
  }

  hear(bytes: Uint8Array): void {
    if (this.#isStructured) return
    this.#pieces.push(bytes.slice())
    this.#size += bytes.length
    while (this.#size - this.#pieces[0]!.length >= KEPT_BYTES) {
      this.#size -= this.#pieces.shift()!.length
      this.#hasLost = true
    }
  }

  /** As much as fits into a message, and which part was cut. */
  get words(): Words {
    if (this.#isStructured) return cutEnd(this.#message.trim())
    const text = Buffer.concat(this.#pieces).toString('utf8').toWellFormed()
    return cutBeginning(printableLines(Bun.stripANSI(text)).trimEnd(), this.#hasLost)
  }
}

export interface Words {
  readonly text: string
  readonly cut?: 'beginning' | 'end'
}

function cutBeginning(text: string, hasLost: boolean): Words {
  if (text.length <= LONGEST_CHARS && !hasLost) return { text }
  const kept = text.slice(-LONGEST_CHARS)
  return { text: kept.slice(firstWhole(kept)), cut: 'beginning' }
}

/** The offset of the first whole line, or else of the first whole word. */
function firstWhole(text: string): number {
  const key = text.slice(0, KEY_CHARS).indexOf('-----END')
  if (key !== -1 && !text.slice(0, key).includes('-----BEGIN')) return key
  const seam = text.slice(0, SEAM_CHARS)
  const space = seam.includes('\n') ? seam.indexOf('\n') : seam.search(/\s/)
  return space === -1 ? seam.length : space + 1
}

function cutEnd(text: string): Words {
  if (text.length <= LONGEST_CHARS) return { text }
  const end = LONGEST_CHARS - SEAM_CHARS
  const seam = text.slice(end, LONGEST_CHARS).search(/\s\S*$/)
  return { text: text.slice(0, end + Math.max(seam, 0)).trimEnd(), cut: 'end' }
}
