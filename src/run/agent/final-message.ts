import type { Fact } from '../../engines/engine.ts'
import type { Ports } from '../ports.ts'
import { Tail } from '../process/tail.ts'

/** Far below the size limit of a message. */
const LONGEST_CHARS = 199_800

/** A UTF-16 code unit takes at most three bytes in UTF-8. */
const KEPT_BYTES = LONGEST_CHARS * 3

/** A cut first line up to this length is dropped. */
const SHORT_CHARS = 8192

export interface FinalText {
  readonly text: string
  readonly cut?: 'beginning' | 'end'
}

/** The last message of an agent, or the end of a program's output, with secrets masked. */
export class FinalMessage {
  readonly #mask: Ports['mask']
  /** Undefined for agents that send messages. */
  readonly #output: Tail | undefined
  #message = ''

  constructor(isStructured: boolean, { mask, maskStream }: Pick<Ports, 'mask' | 'maskStream'>) {
    this.#mask = mask
    this.#output = isStructured ? undefined : new Tail(maskStream, KEPT_BYTES)
  }

  take(fact: Fact): void {
    if (fact.type !== 'message' || fact.parent !== undefined) return
    const { text, follows } = fact
    this.#message = follows === undefined ? text : `${this.#message}${follows}${text}`
  }

  addOutput(bytes: Uint8Array): void {
    this.#output?.add('out', bytes)
  }

  /** As much as fits into a message, and which part was cut. Call once, at the end. */
  end(): FinalText {
    if (this.#output === undefined) return cutEnd(this.#mask(this.#message.trim()))
    const text = this.#output.end()
    if (text.length > LONGEST_CHARS) return { text: lastLines(text), cut: 'beginning' }
    return this.#output.isCut ? { text, cut: 'beginning' } : { text }
  }
}

function lastLines(text: string): string {
  const kept = text.slice(-LONGEST_CHARS)
  return kept.slice(kept.slice(0, SHORT_CHARS).indexOf('\n') + 1)
}

function cutEnd(text: string): FinalText {
  if (text.length <= LONGEST_CHARS) return { text }
  return { text: text.slice(0, LONGEST_CHARS).trimEnd(), cut: 'end' }
}
