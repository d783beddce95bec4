import type { Decoder, Fact } from '../engine.ts'
import { MarkerScanner, StderrScanner } from '../marker/marker.ts'
import { Tail } from './tail.ts'
import { readLastWords } from '../limits/limit-messages.ts'

const TAIL_BYTES = 8 * 1024

/** Scans plain text line by line, and its end for a known failure message. */
class PlainDecoder implements Decoder {
  readonly #scanner: Decoder | undefined
  readonly #now: () => Date
  readonly #tail = new Tail(TAIL_BYTES)

  constructor(scanner: Decoder | undefined, now: () => Date) {
    this.#scanner = scanner
    this.#now = now
  }

  push(bytes: Uint8Array): readonly Fact[] {
    this.#tail.push(bytes)
    return this.#scanner?.push(bytes) ?? []
  }

  end(): readonly Fact[] {
    const facts = this.#scanner?.end() ?? []
    const { text } = this.#tail
    const failure = text === '' ? undefined : readLastWords(text, this.#now())
    return failure === undefined ? facts : [...facts, { type: 'last_words', failure }]
  }

  get isDoneIfSilent(): boolean {
    return this.#scanner?.isDoneIfSilent === true
  }
}

/** For programs that print plain text. The marker counts only in a loop. */
export function plainDecoder(
  stream: 'out' | 'err',
  loop: boolean,
  now = () => new Date(),
): Decoder {
  if (stream === 'out') return new PlainDecoder(new MarkerScanner({ looksForMarker: loop }), now)
  return new PlainDecoder(loop ? new StderrScanner() : undefined, now)
}
