import type { Decoder, Fact } from '../engine.ts'
import { readPrintedFailure } from '../limits/limit-messages.ts'
import { MarkerScanner, StderrScanner } from '../marker/marker.ts'

const TAIL_BYTES = 8 * 1024

/** Scans plain text line by line, and its end for a known failure message. */
class PlainDecoder implements Decoder {
  readonly #scanner: Decoder | undefined
  readonly #now: () => Date
  #tail = Buffer.alloc(0)
  #isCut = false

  constructor(scanner: Decoder | undefined, now: () => Date) {
    this.#scanner = scanner
    this.#now = now
  }

  push(bytes: Uint8Array): readonly Fact[] {
    this.#isCut ||= this.#tail.length + bytes.length > TAIL_BYTES
    this.#tail = Buffer.concat([this.#tail, bytes.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES)
    return this.#scanner?.push(bytes) ?? []
  }

  end(): readonly Fact[] {
    const facts = this.#scanner?.end() ?? []
    const text = this.#tail.toString()
    const wholeLines = this.#isCut ? text.replace(/^[^\n]*\n?/, '') : text
    const failure = readPrintedFailure(wholeLines, this.#now())
    return failure === undefined ? facts : [...facts, { type: 'printed_failure', failure }]
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

/** Looks only for a known failure message at the end. */
export function failureDecoder(now: () => Date): Decoder {
  return new PlainDecoder(undefined, now)
}
