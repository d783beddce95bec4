import type { Refusal } from '../../records/events/schema.ts'
import type { BlockedFact, Decoder, MarkerFact } from '../engine.ts'
import { Fences } from '../../base/code-fences.ts'
import { PartialLine } from './partial-line.ts'
import { endOfLine, Search } from './search.ts'
import { isMarker, readBlocked, refusalOf, withoutColours, contentOf } from './status-line.ts'

// Native searches find the few lines with a part of a marker or code fence; the others are skipped,
// so that scanning a gigabyte of output costs little more than reading it.
const MENTIONS = buffers('ESTRA_COMPLETE', 'estra_complete', 'estra_Complete')
const BLOCKED = Buffer.from('ESTRA_BLOCKED')
/** One search covers both words in capitals: each search takes a tenth of the total time. */
const HINTS = [
  { bytes: Buffer.from('ESTRA_'), next: [...Buffer.from('CB')] },
  ...buffers('estra_complete', 'estra_Complete').map((bytes) => ({ bytes })),
]
const FENCES = buffers('```', '~~~')
const FENCE_NEEDLES = FENCES.map((bytes) => ({ bytes }))

/** Of longer lines only the start is kept. */
const LINE_LIMIT = 4096
/** Longer than any marker with colours. */
const SHORT_LINE = 256
const NEWLINE = 10
const RETURN = 13
const ESCAPE = 27

type Found = MarkerFact | BlockedFact

/**
 * Finds the marker, and the report that the agent is blocked, in an agent's output: a whole line
 * outside of closed code fences.
 */
export class MarkerScanner implements Decoder {
  readonly #looksForMarker: boolean
  readonly #line = new PartialLine(LINE_LIMIT, MENTIONS)
  readonly #fences = new Fences(() => this.#endBlock())
  /** Found in the open code block; counts only if the block is never closed. */
  #pending: { marker?: boolean; reason?: string } = {}
  #refusal: Refusal | undefined
  #isFound = false
  #isBlocked = false
  #facts: Found[] = []

  /** `looksForMarker: false` looks for `blocked` only. */
  constructor({ looksForMarker = true } = {}) {
    this.#looksForMarker = looksForMarker
  }

  push(bytes: Uint8Array): readonly Found[] {
    if (this.#isBlocked) return []
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
    return this.#takeFacts()
  }

  end(): readonly Found[] {
    if (!this.#isBlocked && !this.#line.isEmpty) this.#judgePartial()
    const { marker, reason } = this.#pending
    const isInOpenFence = { isInOpenFence: true } as const
    if (marker === true) this.#findMarker(isInOpenFence)
    if (reason !== undefined) this.#findBlocked(reason, isInOpenFence)
    if (this.#refusal !== undefined) {
      this.#facts.push({ type: 'marker_refused', why: this.#refusal })
    }
    return this.#takeFacts()
  }

  get isDoneIfSilent(): boolean {
    const { head, length } = this.#line
    if (!this.#looksForMarker || this.#isFound || this.#isBlocked) return false
    if (this.#fences.isOpen || length === 0 || length > SHORT_LINE) return false
    return isMarker(contentOf(head))
  }

  #takeFacts(): readonly Found[] {
    const facts = this.#facts
    if (facts.length > 0) this.#facts = []
    return facts
  }

  /** Checks those of the complete lines that may be relevant. */
  #scan(lines: Buffer): void {
    const hints = new Search(lines, HINTS)
    const fences = new Search(lines, FENCE_NEEDLES)
    let isPlain: boolean | undefined
    for (let from = 0; from < lines.length && !this.#isBlocked;) {
      const hint = hints.next(from)
      const hit = this.#fences.isInList ? from : Math.min(hint, fences.next(from))
      if (hit === Infinity) return
      const isAtStart = hit === 0 || lines[hit - 1] === NEWLINE
      const start = isAtStart ? hit : lines.lastIndexOf(NEWLINE, hit) + 1
      const end = endOfLine(lines, hit)
      const stop = Math.min(end, start + LINE_LIMIT)
      if (hint < end) this.#judgeLine(lines.subarray(start, end))
      else if ((isPlain ??= !lines.includes(ESCAPE) && !lines.includes(RETURN)))
        this.#fences.take(lines, start, stop)
      else this.#takeFence(lines.subarray(start, stop))
      from = end + 1
    }
  }

  #judgeLine(line: Buffer): void {
    const isMention = MENTIONS.some((mention) => line.includes(mention))
    this.#judge(line.subarray(0, LINE_LIMIT), line.length, isMention)
  }

  #judgePartial(): void {
    const { head, length, hasNeedle } = this.#line
    this.#line.clear()
    this.#judge(head, length, hasNeedle)
  }

  #takeFence(head: Buffer): boolean {
    const line = withoutColours(head)
    // A bare carriage return ends a line, too. Words that share their line with a fence are no marker.
    let start = 0
    for (let end = line.indexOf(RETURN); end !== -1; end = line.indexOf(RETURN, start)) {
      if (end + 1 === line.length) break
      this.#fences.take(line, start, end)
      start = end + 1
    }
    return this.#fences.take(line, start, line.length) && start === 0
  }

  /** `isMention`: the marker is mentioned anywhere in the line, also after `head`. */
  #judge(head: Buffer, length: number, isMention: boolean): void {
    const mayBeFence = this.#fences.isInList || FENCES.some((fence) => head.includes(fence))
    if (mayBeFence && this.#takeFence(head)) return
    if (!isMention && !head.includes(BLOCKED)) return
    const words = contentOf(head)
    const reason = readBlocked(words)
    if (reason !== undefined) this.#takeBlocked(reason)
    else if (isMention) this.#takeMention(words, length)
  }

  #takeMention(words: string, length: number): void {
    if (length > LINE_LIMIT) this.#refuse('longer_line')
    else if (!isMarker(words)) this.#refuse(refusalOf(words))
    else if (this.#fences.isOpen) this.#pending.marker = true
    else this.#findMarker()
  }

  #takeBlocked(reason: string): void {
    if (this.#fences.isOpen) this.#pending.reason ??= reason
    else this.#findBlocked(reason)
  }

  #findMarker(fence: { isInOpenFence?: true } = {}): void {
    if (this.#looksForMarker && !this.#isFound) this.#facts.push({ type: 'marker', ...fence })
    this.#isFound = true
  }

  #findBlocked(reason: string, fence: { isInOpenFence?: true } = {}): void {
    if (!this.#isBlocked) this.#facts.push({ type: 'blocked', reason, ...fence })
    this.#isBlocked = true
  }

  #endBlock(): void {
    if (this.#pending.marker === true) this.#refuse('code_fence')
    this.#pending = {}
  }

  /** Any other reason replaces 'longer_line': mentions in prose are normal. */
  #refuse(why: Refusal): void {
    if (!this.#looksForMarker || this.#isFound) return
    if (this.#refusal === undefined || this.#refusal === 'longer_line') this.#refusal = why
  }
}

/** A marker on stderr never counts, but is reported. */
export class StderrScanner implements Decoder {
  readonly #scanner = new MarkerScanner()
  #isSeen = false

  push(bytes: Uint8Array): readonly MarkerFact[] {
    this.#isSeen ||= this.#scanner.push(bytes).some((fact) => fact.type === 'marker')
    return []
  }

  end(): readonly MarkerFact[] {
    this.#isSeen ||= this.#scanner.end().some((fact) => fact.type === 'marker')
    return this.#isSeen ? [{ type: 'marker_refused', why: 'stderr' }] : []
  }
}

function buffers(...texts: readonly string[]): Buffer[] {
  return texts.map((text) => Buffer.from(text))
}
