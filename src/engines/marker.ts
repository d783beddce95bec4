import type { Refusal } from '../events/schema.ts'
import type { Decoder, MarkerFact } from './engine.ts'
import { Fences } from '../base/fences.ts'
import { PartialLine } from './partial-line.ts'

// Lines that cannot matter are never looked at: native searches find the few that hold a piece of a
// marker or of a code fence, so that a gigabyte of output costs little more than reading it.
const MENTIONS = ['ESTRA_COMPLETE', 'estra_complete', 'estra_Complete'].map((text) =>
  Buffer.from(text),
)
const FENCES = ['```', '~~~'].map((text) => Buffer.from(text))

const MARKER = /^(?:ORCHESTRA|FORKHESTRA)_COMPLETE$/
const QUOTES = /^["'“”„‘’«»]+|["'“”„‘’«»]+$/g

/** A line of the marker is short; of a longer one only the beginning is kept. */
const LINE_LIMIT = 4096
/** Longer than any marker with its colours. */
const SHORT_LINE = 256
const NEWLINE = 10
const ESCAPE = 27

/** Finds the marker in an agent's own words: a whole line, outside of closed code fences. */
export class MarkerScanner implements Decoder {
  readonly #line = new PartialLine(LINE_LIMIT, MENTIONS)
  readonly #fences = new Fences(() => this.#endBlock())
  /** Whether the open block holds a marker, which counts only if the block is never closed. */
  #isPending = false
  #refusal: Refusal | undefined
  #isFound = false

  push(bytes: Uint8Array): readonly MarkerFact[] {
    if (this.#isFound) return []
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
    let from = 0
    if (!this.#line.isEmpty) {
      const end = chunk.indexOf(NEWLINE)
      this.#line.append(end === -1 ? chunk : chunk.subarray(0, end))
      if (end === -1) return []
      this.#judgePartial()
      from = end + 1
    }
    const end = chunk.lastIndexOf(NEWLINE) + 1
    if (end > from) this.#scan(chunk.subarray(from, end))
    this.#line.append(chunk.subarray(Math.max(from, end)))
    return this.#isFound ? [{ type: 'marker' }] : []
  }

  end(): readonly MarkerFact[] {
    const facts: MarkerFact[] = []
    const wasFound = this.#isFound
    if (!wasFound && !this.#line.isEmpty) this.#judgePartial()
    if (this.#isPending) this.#isFound = true
    if (this.#isFound && !wasFound) facts.push({ type: 'marker' })
    if (this.#refusal !== undefined) facts.push({ type: 'marker_refused', why: this.#refusal })
    return facts
  }

  get isDoneIfSilent(): boolean {
    const { head, length } = this.#line
    if (this.#isFound || this.#fences.isOpen || length === 0 || length > SHORT_LINE) return false
    return MARKER.test(unwrap(withoutColours(head).toString('utf8').trim()))
  }

  /** Judges, among complete lines, those that may matter. */
  #scan(lines: Buffer): void {
    const mentions = new Search(lines, MENTIONS)
    const fences = new Search(lines, FENCES)
    const isColoured = lines.includes(ESCAPE)
    for (let from = 0; from < lines.length && !this.#isFound;) {
      const mention = mentions.next(from)
      const hit = this.#fences.isInList ? from : Math.min(mention, fences.next(from))
      if (hit === Infinity) return
      const isAtStart = hit === 0 || lines[hit - 1] === NEWLINE
      const start = isAtStart ? hit : lines.lastIndexOf(NEWLINE, hit) + 1
      const end = endOfLine(lines, hit)
      const stop = Math.min(end, start + LINE_LIMIT)
      if (mention < end) this.#judge(lines.subarray(start, stop), end - start)
      else if (isColoured) this.#takeFence(lines.subarray(start, stop))
      else this.#fences.take(lines, start, stop)
      from = end + 1
    }
  }

  #judgePartial(): void {
    const { head, length, hasNeedle } = this.#line
    this.#line.clear()
    const mayBeFence = this.#fences.isInList || FENCES.some((fence) => head.includes(fence))
    if (hasNeedle) this.#judge(head, length)
    else if (mayBeFence) this.#takeFence(head)
  }

  #takeFence(head: Buffer): boolean {
    const line = withoutColours(head)
    return this.#fences.take(line, 0, line.length)
  }

  /** Judges a line that mentions the marker, by its beginning and its length. */
  #judge(head: Buffer, length: number): void {
    if (this.#takeFence(head)) return
    const words = unwrap(withoutColours(head).toString('utf8').trim())
    if (length > LINE_LIMIT) this.#refuse('longer_line')
    else if (!MARKER.test(words)) this.#refuse(whyNot(words))
    else if (this.#fences.isOpen) this.#isPending = true
    else this.#isFound = true
  }

  #endBlock(): void {
    if (this.#isPending) this.#refuse('code_fence')
    this.#isPending = false
  }

  /** Of several refusals the most telling one is kept: mentions in prose are the normal case. */
  #refuse(why: Refusal): void {
    if (this.#refusal === undefined || this.#refusal === 'longer_line') this.#refusal = why
  }
}

/** On stderr a marker never counts; the person is told about it all the same. */
export class StderrScanner implements Decoder {
  readonly #scanner = new MarkerScanner()
  #isSeen = false

  push(bytes: Uint8Array): readonly MarkerFact[] {
    this.#isSeen ||= this.#scanner.push(bytes).length > 0
    return []
  }

  end(): readonly MarkerFact[] {
    this.#isSeen ||= this.#scanner.end().some((fact) => fact.type === 'marker')
    return this.#isSeen ? [{ type: 'marker_refused', why: 'stderr' }] : []
  }
}

/** Where the first of several needles comes next; each place is searched for only once. */
class Search {
  readonly #bytes: Buffer
  readonly #needles: readonly Buffer[]
  readonly #places: number[]
  #first = -1

  constructor(bytes: Buffer, needles: readonly Buffer[]) {
    this.#bytes = bytes
    this.#needles = needles
    this.#places = needles.map(() => -1)
  }

  /** Infinity where there is none any more. */
  next(from: number): number {
    if (this.#first >= from) return this.#first
    let first = Infinity
    for (let index = 0; index < this.#places.length; index += 1) {
      if (this.#places[index]! < from) {
        const place = this.#bytes.indexOf(this.#needles[index]!, from)
        this.#places[index] = place === -1 ? Infinity : place
      }
      first = Math.min(first, this.#places[index]!)
    }
    this.#first = first
    return first
  }
}

/** Lines with a fence are short; for the next few bytes a native search would cost more. */
function endOfLine(lines: Buffer, from: number): number {
  for (let at = from; at < from + 32; at += 1) if (lines[at] === NEWLINE) return at
  return lines.indexOf(NEWLINE, from + 32)
}

function withoutColours(line: Buffer): Buffer {
  return line.includes(ESCAPE) ? Buffer.from(Bun.stripANSI(line.toString('utf8'))) : line
}

/** Takes `**`, `__` and backticks off, where they hold the whole line. */
function unwrap(text: string): string {
  const match = /^(\*\*|__|`+)(.+)\1$/s.exec(text)
  return match === null ? text : unwrap(match[2]!.trim())
}

function whyNot(words: string): Refusal {
  if (MARKER.test(words.toUpperCase())) return 'letter_case'
  if (MARKER.test(words.replaceAll(QUOTES, '').trim())) return 'quotes'
  return 'longer_line'
}
