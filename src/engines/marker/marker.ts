import type { Refusal } from '../../records/events/schema.ts'
import { Fences } from '../../base/code-fences.ts'
import type { BlockedFact, Decoder, MarkerFact } from '../engine.ts'
import { LineReader } from '../line-reader.ts'
import {
  blockedRefusalOf,
  isMarker,
  readBlocked,
  refusalOf,
  withoutColours,
  contentOf,
} from './status-line.ts'

/** A line without any of these cannot matter. */
const HINT = /ESTRA_|estra_|```|~~~/
const MENTION = /ESTRA_COMPLETE|estra_[cC]omplete/

/** A mention of the marker beyond this part of a line is not noticed. */
const LONGEST_LINE = 1024 * 1024
/** Neither the marker nor a fence is longer. */
const HEAD_BYTES = 4096
/** Longer than any marker with colours. */
const SHORT_LINE = 256

type Found = MarkerFact | BlockedFact

/**
 * Finds the marker, and the report that the agent is blocked, in an agent's output: a whole line
 * outside of closed code fences.
 */
export class MarkerScanner implements Decoder {
  readonly #looksForMarker: boolean
  readonly #lines = new LineReader(LONGEST_LINE, (line) => this.#take(line))
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
    if (!this.#isBlocked) this.#lines.push(bytes)
    return this.#takeFacts()
  }

  end(): readonly Found[] {
    this.#lines.end()
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
    const { length } = this.#lines
    if (!this.#looksForMarker || this.#isFound || this.#isBlocked) return false
    if (this.#fences.isOpen || length === 0 || length > SHORT_LINE) return false
    return isMarker(contentOf(this.#lines.partial))
  }

  #takeFacts(): readonly Found[] {
    const facts = this.#facts
    this.#facts = []
    return facts
  }

  #take(line: Buffer): void {
    if (this.#isBlocked) return
    const text = line.toString('latin1')
    if (!this.#fences.isInList && !HINT.test(text)) return
    const head = line.subarray(0, HEAD_BYTES)
    if (this.#takeFence(head)) return
    const content = contentOf(head)
    const reason = readBlocked(content)
    if (reason !== undefined) this.#takeBlocked(reason)
    else if (MENTION.test(text)) this.#takeMention(content, line.length > HEAD_BYTES)
    else if (!this.#fences.isOpen) this.#refusal = blockedRefusalOf(content) ?? this.#refusal
  }

  #takeFence(head: Buffer): boolean {
    // A bare carriage return ends a line too. Text on the same line as a fence is not a marker.
    const lines = withoutColours(head)
      .toString('latin1')
      .split(/\r(?!$)/)
    const areFences = lines.map((line) => this.#fences.take(line))
    return areFences.length === 1 && areFences[0]!
  }

  #takeMention(content: string, isLong: boolean): void {
    if (isLong) this.#refuse('longer_line')
    else if (!isMarker(content)) this.#refuse(refusalOf(content))
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
