// oxlint-disable no-control-regex
import { TerminalFilter } from '../base/terminal-filter.ts'

const STYLE = String.raw`\u001b\[[\d;:]*m|\u001b\]8;[^\u001b]*\u001b\\`
const STYLES = new RegExp(STYLE, 'g')
const NAME = '[forkhestra]'
const LETTERS = NAME.split('').map((letter) => letter.replace(/[[\]]/, String.raw`\$&`))
/** A line that begins like one of ours, with any colours in between. */
const FORGED = new RegExp(`^((?:[ \\t]|${STYLE})*)(${LETTERS.join(`(?:${STYLE})*`)})`, 'gm')
const LABEL = 'agent: '
/** A line of ours has no more styles before its name than fit here. */
const LONGEST_START = 4096

/** What an agent prints, for a terminal: reduced, and never mistaken for a line of ours. */
export class AgentOutput {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #filter = new TerminalFilter()
  /** The beginning of a line that may become one like ours. */
  #begun = ''
  /** Whether nothing of the current line can be seen yet. */
  #isBlank = true

  push(bytes: Uint8Array): Uint8Array {
    const text = this.#begun + this.#filter.push(this.#decoder.decode(bytes, { stream: true }))
    const isBegin = this.#isBlank
    const end = this.#endOfDecided(text)
    this.#begun = text.slice(end)
    return Buffer.from(label(text.slice(0, end), isBegin))
  }

  /** What was held back, and what ends open colours and links: somebody else writes next. */
  finish(): { readonly text: string; readonly reset: string } {
    const cut = this.#filter.push(this.#decoder.decode())
    const { text, reset } = this.#filter.finish()
    const rest = label(this.#begun + cut + text, this.#isBlank)
    this.#begun = ''
    this.#isBlank = true
    return { text: rest, reset }
  }

  /** Without the last line where that may still become one like ours. */
  #endOfDecided(text: string): number {
    const start = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1
    const line = text.slice(start, start + LONGEST_START)
    const seen = line.replaceAll(STYLES, '').trimStart()
    this.#isBlank = (this.#isBlank || start > 0) && seen !== NAME && NAME.startsWith(seen)
    return this.#isBlank && seen !== '' ? start : text.length
  }
}

/** Says of lines that begin like ours whose they are. */
function label(text: string, isBegin: boolean): string {
  if (!text.includes(NAME) && !text.includes('\u001b')) return text
  return text.replaceAll(FORGED, (line, before: string, name: string, at: number) =>
    at > 0 || isBegin ? `${before}${LABEL}${name}` : line,
  )
}
