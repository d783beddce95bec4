import type { Refusal } from '../events/schema.ts'
import type { Decoder, Fact } from './engine.ts'

// Lines that cannot matter are never looked at: native searches find the few that hold a piece of a
// marker or of a code fence, so that a gigabyte of output costs little more than reading it.
const MENTION = Buffer.from('ESTRA_COMPLETE')
const MENTION_LOWER = Buffer.from('estra_complete')
const NEEDLES = [MENTION, MENTION_LOWER, Buffer.from('```'), Buffer.from('~~~')]

const MARKER = /^(?:ORCHESTRA|FORKHESTRA)_COMPLETE$/
const QUOTES = /^["'“”„‘’«»]+|["'“”„‘’«»]+$/g
const FENCE = /^([ \t]*)(`{3,}|~{3,})(.*)$/s

/** A line of the marker is short; of a longer one only the beginning is kept. */
const LINE_LIMIT = 4096
const NEWLINE = 10

interface Fence {
  readonly mark: string
  readonly indent: number
}

/** Finds the marker in an agent's own words: a whole line, outside of closed code fences. */
export class MarkerScanner implements Decoder {
  #line = new PartialLine()
  #fence: Fence | undefined
  #pending = false
  #refusal: Refusal | undefined
  #found = false

  push(bytes: Uint8Array): readonly Fact[] {
    if (this.#found) return []
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
    return this.#found ? [{ type: 'marker' }] : []
  }

  end(): readonly Fact[] {
    const facts: Fact[] = []
    const before = this.#found
    if (!before && !this.#line.isEmpty) this.#judgePartial()
    if (this.#fence !== undefined && this.#pending) this.#found = true
    if (this.#found && !before) facts.push({ type: 'marker' })
    if (this.#refusal !== undefined) facts.push({ type: 'marker_refused', why: this.#refusal })
    return facts
  }

  /** Judges, among complete lines, those that hold a needle. */
  #scan(lines: Buffer): void {
    const hits = NEEDLES.map((needle) => lines.indexOf(needle))
    while (!this.#found) {
      const found = hits.filter((at) => at !== -1)
      if (found.length === 0) return
      const hit = Math.min(...found)
      const start = lines.lastIndexOf(NEWLINE, hit) + 1
      const end = lines.indexOf(NEWLINE, hit)
      const line = lines.subarray(start, end)
      this.#judge(line.toString('utf8', 0, LINE_LIMIT), line.length > LINE_LIMIT, mentions(line))
      for (const [index, at] of hits.entries()) {
        if (at !== -1 && at < end) hits[index] = lines.indexOf(NEEDLES[index]!, end)
      }
    }
  }

  #judgePartial(): void {
    const { text, isCut, isMention } = this.#line
    this.#line = new PartialLine()
    this.#judge(text, isCut, isMention)
  }

  #judge(line: string, isCut: boolean, isMention: boolean): void {
    const text = Bun.stripANSI(line)
    if (this.#judgeFence(text) || !isMention) return
    const words = unwrap(text.trim())
    if (isCut || !MARKER.test(words)) return this.#refuse(whyNot(words))
    if (this.#fence !== undefined && indentOf(text) >= this.#fence.indent - 3) {
      this.#pending = true
    } else {
      this.#found = true
    }
  }

  /** Follows CommonMark's fences; true where the line is one. */
  #judgeFence(text: string): boolean {
    const match = FENCE.exec(text)
    if (match === null) return false
    const [, , mark = '', rest = ''] = match
    const indent = indentOf(text)
    if (this.#fence === undefined) {
      // Three backticks with more of them behind on the same line are a span, not a fence.
      if (mark.startsWith('`') && rest.includes('`')) return false
      this.#fence = { mark, indent }
      return true
    }
    // A fence that begins deeper belongs to a list; its end may stand as deep.
    const deepest = this.#fence.indent >= 4 ? this.#fence.indent + 3 : 3
    if (!mark.startsWith(this.#fence.mark) || rest.trim() !== '' || indent > deepest) return false
    if (this.#pending) this.#refuse('code_fence')
    this.#pending = false
    this.#fence = undefined
    return true
  }

  /** Of several refusals the most telling one is kept: mentions in prose are the normal case. */
  #refuse(why: Refusal): void {
    if (this.#refusal === undefined || this.#refusal === 'longer_line') this.#refusal = why
  }
}

/** On stderr a marker never counts; the person is told about it all the same. */
export class StderrScanner implements Decoder {
  readonly #scanner = new MarkerScanner()
  #seen = false

  push(bytes: Uint8Array): readonly Fact[] {
    this.#seen ||= this.#scanner.push(bytes).length > 0
    return []
  }

  end(): readonly Fact[] {
    this.#seen ||= this.#scanner.end().some((fact) => fact.type === 'marker')
    return this.#seen ? [{ type: 'marker_refused', why: 'stderr' }] : []
  }
}

/** The beginning of a line whose end has not come yet. */
class PartialLine {
  #head = Buffer.alloc(0)
  #tail = Buffer.alloc(0)
  #length = 0
  #isMention = false

  append(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#length += bytes.length
    const room = LINE_LIMIT - this.#head.length
    if (room > 0) this.#head = Buffer.concat([this.#head, bytes.subarray(0, room)])
    const seam = Buffer.concat([this.#tail, bytes.subarray(0, MENTION.length)])
    this.#isMention ||= mentions(seam) || mentions(bytes)
    this.#tail = Buffer.concat([this.#tail, bytes.subarray(-MENTION.length)]).subarray(
      -MENTION.length,
    )
  }

  get isEmpty(): boolean {
    return this.#length === 0
  }
  get isCut(): boolean {
    return this.#length > LINE_LIMIT
  }
  get isMention(): boolean {
    return this.#isMention
  }
  get text(): string {
    return this.#head.toString('utf8')
  }
}

function mentions(bytes: Buffer): boolean {
  return bytes.includes(MENTION) || bytes.includes(MENTION_LOWER)
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

function indentOf(text: string): number {
  let column = 0
  for (const character of text) {
    if (character === ' ') column += 1
    else if (character === '\t') column += 4 - (column % 4)
    else break
  }
  return column
}
