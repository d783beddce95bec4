// oxlint-disable no-control-regex
import { TerminalFilter } from './terminal/terminal-filter.ts'
import { LineCutter } from './line-cutter.ts'

const STYLE = String.raw`\u001b\[[\d;:]*m|\u001b\]8;[^\u001b]*\u001b\\`
const STYLES = new RegExp(STYLE, 'g')
/** Characters that are invisible or look empty. */
const INVISIBLE = String.raw`\p{Default_Ignorable_Code_Point}\p{Cf}\u2800`
const BLANK = new RegExp(`^[\\s${INVISIBLE}]*$`, 'u')
const OURS = '[forkhestra]'
const LETTERS = Array.from(OURS, (letter) => letter.replace(/[[\]]/, String.raw`\$&`))
const GAP = `(?:${STYLE}|[${INVISIBLE}])*`
const NAME = new RegExp(LETTERS.join(GAP), 'gu')
/** A prefix of our name at the end of a text. */
const BEGUN = new RegExp(
  `${LETTERS.reduceRight((rest, each) => `${each}${GAP}(?:${rest})?`)}$`,
  'u',
)
const LABEL = 'agent: '
/** A longer prefix of our name is labelled instead of held back. */
const LONGEST_BEGUN = 4096
const TAB_COLUMNS = 8
const [ESCAPE, RESET] = ['\u001b', '\u001b[0m']
/** With a very long name or in a very narrow terminal, lines are not wrapped. */
const LEAST_ROOM = 20

/** The state of the current line; streams to the same terminal share it. */
export class TerminalLine {
  /** An upper limit, because terminals disagree on the width of some characters. */
  #columns: number
  #isBlank = true

  constructor(columns = 0) {
    this.#columns = columns
  }

  /** The label that keeps an agent's line from looking like one of ours. */
  labelBefore(width: number): string {
    const left = width - this.#columns
    if (!this.#isBlank && left > 0) return ''
    return this.#isBlank && left > LABEL.length ? LABEL : `\n${LABEL}`
  }

  add(text: string): string {
    const start = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1
    if (start > 0) this.clear()
    const seen = text.slice(start).replaceAll(STYLES, '')
    this.#isBlank &&= BLANK.test(seen)
    const wide = seen.match(/[^\u0000-\u007f]/g)?.length ?? 0
    const tabs = seen.match(/\t/g)?.length ?? 0
    this.#columns += seen.length + wide + tabs * (TAB_COLUMNS - 1)
    return text
  }

  /** Call when another writer has ended or erased the line. */
  clear(): void {
    this.#columns = 0
    this.#isBlank = true
  }
}

/** Filters an agent's output for a terminal, cuts long lines and labels those that look like ours. */
export class AgentOutput {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #filter = new TerminalFilter()
  readonly #line: TerminalLine
  readonly #width: () => number
  readonly #cutter: LineCutter | undefined
  /** Text held back because it may be the beginning of our name. */
  #begun = ''

  constructor(line: TerminalLine, width: () => number, isCut = false) {
    this.#line = line
    this.#width = width
    this.#cutter = isCut ? new LineCutter() : undefined
  }

  push(bytes: Uint8Array): Uint8Array {
    const decoded = this.#decoder.decode(bytes, { stream: true })
    const text = this.#begun + this.#filter.push(this.#cutter?.cut(decoded) ?? decoded)
    this.#begun = ''
    return Buffer.from(this.#label(text, false))
  }

  /** Returns the held-back text, and the sequences that end open colours and links. */
  finish(): { readonly text: string; readonly reset: string } {
    const decoded = this.#decoder.decode()
    const last = (this.#cutter?.cut(decoded) ?? decoded) + (this.#cutter?.finishLine() ?? '')
    const cut = this.#filter.push(last)
    const { text, reset } = this.#filter.finish()
    const rest = this.#label(this.#begun + cut + text, true)
    this.#begun = ''
    return { text: rest, reset }
  }

  /** Splits a whole line into rows that fit next to our prefix, with colours ended. */
  rows(text: string, prefix: string): string[] {
    const cutter = this.#cutter === undefined ? undefined : new LineCutter()
    const filter = new TerminalFilter()
    const shown = filter.push((cutter?.cut(text) ?? text) + (cutter?.finishLine() ?? ''))
    const { text: rest, reset } = filter.finish()
    return this.wrap(shown + rest + reset, prefix).map((row) => {
      const output = new AgentOutput(new TerminalLine(Bun.stringWidth(prefix)), this.#width)
      const isReset = !row.includes(ESCAPE) || row.endsWith(RESET)
      return output.#label(row, true) + (isReset ? '' : RESET)
    })
  }

  /** Rows that fit next to a prefix. A word of ASCII, such as a path or an address, stays whole. */
  wrap(text: string, prefix: string): string[] {
    const room = this.#width() - Bun.stringWidth(prefix)
    if (room < LEAST_ROOM || prefix === '' || text.includes('\t')) return [text]
    const hasLongWord = new RegExp(`[!-~]{${room + 1}}`).test(text)
    const options = { hard: !hasLongWord, wordWrap: true, trim: false }
    const [first = '', ...rest] = Bun.wrapAnsi(text, room, options).split('\n')
    return [first, ...rest.map((row) => row.replace(/^ +/, ''))]
  }

  /** For our own lines that quote foreign text: only the name at the start of a line is ours. */
  quote(text: string, prefix = ''): string {
    return text.replaceAll(/[^\n]+/g, (all) => {
      const own = all.startsWith(OURS) ? OURS : ''
      const line = new TerminalLine(Bun.stringWidth(prefix))
      line.add(own)
      return own + new AgentOutput(line, this.#width).#label(all.slice(own.length), true)
    })
  }

  #label(text: string, isEnd: boolean): string {
    let shown = ''
    let from = 0
    for (const { index, 0: name } of text.matchAll(NAME)) {
      shown += this.#line.add(text.slice(from, index)) + this.#labelled(name)
      from = index + name.length
    }
    const rest = text.slice(from)
    const at = isEnd ? -1 : rest.search(BEGUN)
    if (at === -1) return shown + this.#line.add(rest)
    shown += this.#line.add(rest.slice(0, at))
    const begun = rest.slice(at)
    if (begun.length > LONGEST_BEGUN) return shown + this.#labelled(begun)
    if (this.#line.labelBefore(this.#width()) === '') return shown + this.#line.add(begun)
    this.#begun = begun
    return shown
  }

  #labelled(name: string): string {
    const label = this.#line.labelBefore(this.#width())
    return this.#line.add(label + name)
  }
}
