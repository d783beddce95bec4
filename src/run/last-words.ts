import { printableLines } from '../base/printable.ts'
import type { Fact } from '../engines/engine.ts'

/** A message is refused beyond a size that is far above this; whoever writes more has files. */
const LONGEST_CHARS = 199_800

/**
 * Texts are cut before their secrets are masked, and half a secret is not recognised: so much is
 * left out at the cut where no line and no word ends sooner.
 */
const SEAM_CHARS = 8192

/** A private key that has lost its first line is not recognised; the longest are shorter. */
const KEY_CHARS = 32_768

/** No character takes more bytes for each of its places in a string. */
const KEPT_BYTES = LONGEST_CHARS * 3

/** What an agent said at last: its last message, or the end of what a program printed. */
export class LastWords {
  readonly #isStructured: boolean
  /** As they came: to copy all of it with each piece would take too long. */
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

  /** What fits into a message, and which part of it does not. */
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

/** Where a whole line begins, or else a whole word. */
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
