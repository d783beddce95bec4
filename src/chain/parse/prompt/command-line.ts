import { UserError } from '../../../base/errors.ts'
import { PromptError } from './prompt-error.ts'

/** A value without quotes and escapes, and its position in the line. */
export interface Value {
  readonly text: string
  readonly start: number
  readonly end: number
}

/** Replaces the placeholders for values in a parsed prompt. */
export type Fill = (text: string) => string

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['"', '"'],
  ['\\', '\\'],
])

/** One command of a prompt, parsed from left to right. */
export class CommandLine {
  readonly #where: string
  readonly #line: number
  readonly #text: string
  readonly #fill: Fill
  #at = 0

  constructor(where: string, line: number, text: string, fill: Fill = (same) => same) {
    this.#where = where
    this.#line = line
    this.#text = text
    this.#fill = fill
  }

  get line(): number {
    return this.#line
  }

  get isAtEnd(): boolean {
    this.#skip(/\s+/y)
    return this.#at === this.#text.length
  }

  takeWord(): Value {
    return this.#value(this.#skip(/\S+/y))
  }

  /** The `name` of `name=`, or of `--name`, which is invalid but was meant as an option. */
  takeOptionName(): Value | undefined {
    if (this.isAtEnd) return undefined
    const name = this.#skip(/[A-Za-z_][\w-]*(?==)|--[A-Za-z][\w-]*/y)
    if (name === '') return undefined
    const value = this.#value(name)
    this.#skip(/=/y)
    return value
  }

  /** The value after `name=`: in quotes, or up to the next space. */
  takeOptionValue(name: Value): Value {
    const quoted = this.#takeQuoted()
    if (quoted !== undefined) return quoted
    const bare = this.#value(this.#skip(/[^\s"']+/y))
    if (bare.text === '') {
      throw this.refuse(name, `The value of '${name.text}' is missing.`, 'Use name=value.')
    }
    if (!this.#isAtGap) {
      const quote = { start: this.#at, end: this.#at + 1 }
      throw this.refuse(
        quote,
        'Unexpected quote inside the value.',
        `Put the whole value in quotes: ${name.text}="…".`,
      )
    }
    return bare
  }

  /** The last argument: in quotes, or the rest of the line. */
  takeRest(): Value | undefined {
    if (this.isAtEnd) return undefined
    const quoted = this.#takeQuoted()
    if (quoted === undefined) {
      const start = this.#at
      const text = this.#skip(/.+/sy).trimEnd()
      return { text, start, end: start + text.length }
    }
    if (!this.isAtEnd) {
      throw this.refuse(
        this.#value(this.#skip(/.+/sy)),
        'Unexpected text after the closing quote.',
        'Options come before the text. Write \\" for a quote inside "…".',
      )
    }
    return quoted
  }

  /** An error at this position in the line. */
  refuse(part: { start: number; end: number }, problem: string, hint?: string): PromptError {
    const lengthTo = (end: number) => this.#fill(this.#text.slice(0, end)).length
    const [start, end] = [lengthTo(part.start), lengthTo(part.end)]
    const text = this.#fill(this.#text)
    const place = { where: this.#where, line: this.#line, text, start, end }
    return new PromptError(place, problem, hint)
  }

  /** Applies `read` to the value; errors point to the value. */
  read<T>(value: Value, read: (text: string) => T): T {
    try {
      return read(this.#fill(value.text))
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      throw this.refuse(value, error.message, error.hint)
    }
  }

  get #isAtGap(): boolean {
    return this.#at === this.#text.length || /\s/.test(this.#text[this.#at]!)
  }

  #value(text: string): Value {
    return { text, start: this.#at - text.length, end: this.#at }
  }

  #skip(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += found.length
    return found
  }

  #takeQuoted(): Value | undefined {
    const start = this.#at
    const quote = this.#text[start]
    if (quote !== '"' && quote !== "'") return undefined
    const all = this.#skip(quote === '"' ? /"[^"\\]*(?:\\.[^"\\]*)*"/sy : /'[^']*'/y)
    if (all === '') {
      throw this.refuse(
        { start, end: start + 1 },
        `The quote ${quote} is never closed.`,
        `Close it on the same line. In "…", \\n is a new line and \\" a quote; '…' is taken literally.`,
      )
    }
    if (!this.#isAtGap) throw this.#glued()
    const inside = all.slice(1, -1)
    const text = quote === "'" ? inside : this.#unescape(inside, start + 1)
    return { text, start, end: this.#at }
  }

  #unescape(text: string, start: number): string {
    return text.replaceAll(/\\(.)/gsu, (sequence: string, next: string, at: number) => {
      const meant = ESCAPES.get(next)
      if (meant !== undefined) return meant
      throw this.refuse(
        { start: start + at, end: start + at + sequence.length },
        `'${sequence}' is not an escape sequence in "…".`,
        `Write \\\\ for a backslash, or use '…', which has no escapes.`,
      )
    })
  }

  #glued(): PromptError {
    return this.refuse(
      { start: this.#at, end: this.#at + 1 },
      'A space is missing after the closing quote.',
      'Write \\" for a quote inside "…".',
    )
  }
}
