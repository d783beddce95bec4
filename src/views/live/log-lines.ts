/** How a line of a log is shown: `failure` is a failed tool, gate or iteration. */
export interface LogLine {
  readonly text: string
  readonly kind: 'output' | 'tool' | 'own' | 'warning' | 'failure'
}

/** Older lines than these are dropped. */
const MOST_LINES = 20_000
const MOST_CHARACTERS = 4 * 1024 * 1024
/** Longer lines are cut. */
const LONGEST_LINE = 4000

const FAILURE = /\b(?:error|fail(?:ed|ure|s)?|fatal|panic(?:ked)?|exception)\b/i
const NO_FAILURE = /\b(?:0|no) (?:error|fail)/i

/** The newest lines of a log; a line keeps its number when older ones are dropped. */
export class LogLines {
  #lines: LogLine[] = []
  #first = 0
  #characters = 0
  #open = ''
  #isCut = false
  readonly #decoder = new TextDecoder()

  /** Number of the first line that is left. */
  get first(): number {
    return this.#first
  }

  /** The number after the last line. */
  get end(): number {
    return this.#first + this.#lines.length + Number(this.#open !== '')
  }

  at(number: number): LogLine | undefined {
    const index = number - this.#first
    if (index === this.#lines.length && this.#open !== '')
      return { text: this.#open, kind: 'output' }
    return this.#lines[index]
  }

  bytes(bytes: Uint8Array): void {
    const lines = this.#decoder.decode(bytes, { stream: true }).split('\n')
    const last = lines.length - 1
    for (const [index, text] of lines.entries()) {
      this.#extend(text)
      if (index < last) this.#endLine()
    }
  }

  add(line: LogLine): void {
    if (this.#open !== '') this.#endLine()
    for (const text of line.text.split('\n')) this.#push({ ...line, text })
  }

  /** The next line from a number on, or before it, that contains a text or, without one, looks like a failure. */
  find(query: string | undefined, from: number, step: 1 | -1): number | undefined {
    const wanted = query?.toLowerCase()
    for (let at = from; at >= this.#first && at < this.end; at += step) {
      const { text: coloured, kind } = this.at(at)!
      const text = Bun.stripANSI(coloured)
      const isFound =
        wanted === undefined
          ? kind === 'failure' || (kind === 'output' && looksLikeFailure(text))
          : text.toLowerCase().includes(wanted)
      if (isFound) return at
    }
    return undefined
  }

  #extend(text: string): void {
    if (this.#isCut) return
    this.#open += text
    if (this.#open.length <= LONGEST_LINE) return
    this.#open = `${this.#open.slice(0, LONGEST_LINE)}…`
    this.#isCut = true
  }

  #endLine(): void {
    this.#push({ text: this.#open, kind: 'output' })
    this.#open = ''
    this.#isCut = false
  }

  #push(line: LogLine): void {
    this.#lines.push(line)
    this.#characters += line.text.length
    // A quarter at once, because each removal moves all other lines.
    if (this.#lines.length <= MOST_LINES && this.#characters <= MOST_CHARACTERS) return
    const dropped = this.#lines.splice(0, Math.ceil(this.#lines.length / 4))
    this.#first += dropped.length
    this.#characters -= dropped.reduce((sum, { text }) => sum + text.length, 0)
  }
}

function looksLikeFailure(text: string): boolean {
  return FAILURE.test(text) && !NO_FAILURE.test(text)
}
