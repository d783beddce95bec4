import { fstatSync } from 'node:fs'
import { firstCause } from '../base/first-cause.ts'
import { isTerminal } from '../base/linux/is-terminal.ts'
import { hasColour } from '../base/terminal/colour.ts'
import { printableLines } from '../base/terminal/printable.ts'
import { AgentOutput, TerminalLine } from './agent-output.ts'
import { LiveLines, type RenderFrame } from './terminal/live-lines.ts'
import { WindowTitle } from './terminal/title.ts'
import type { Size } from './terminal/tty.ts'
import { TerminalWriter } from './terminal/terminal-writer.ts'
import type { LineStyle, Output } from './view.ts'
import { Writer, type WriteProblem } from './writer.ts'

const [NEWLINE, RETURN] = [10, 13]
const [DEFAULT_COLUMNS, DEFAULT_ROWS] = [80, 24]

/** Ends open control strings and all colours. */
const KNOWN_STATE = '\u001b\\\u001b[0m'
const [DIM, NOT_DIM] = ['\u001b[2m', '\u001b[22m']

/** How long to wait for the last output after a stop. */
const DRAIN_MS = 1000

/** Changes lines on their way out. */
interface Quoter {
  push(bytes: Uint8Array): Uint8Array
  /** The text that was held back. */
  finish(): Uint8Array
}

/** The position of the cursor; two streams to the same terminal or file share it. */
interface Cursor {
  isAtLineStart: boolean
  readonly line: TerminalLine
  readonly quoter: Quoter | undefined
}

interface Options extends WriteProblem {
  /** The line to show for lines that a stalled terminal did not take; by default everything waits for it. */
  readonly describeDropped?: ((lines: number) => string) | undefined
  readonly uncut: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whether the title of the window says what happens. */
  readonly hasTitle?: boolean
  /** By default lines stay as they are. */
  readonly makeQuoter?: (() => Quoter) | undefined
}

interface Sink {
  write(bytes: Uint8Array, isOurs?: boolean): void | Promise<void>
  drain(): Promise<void>
}

interface Stream {
  readonly writer: Sink
  readonly cursor: Cursor
  /** Absent for a pipe or a file. */
  readonly filter: AgentOutput | undefined
}

interface Stopping {
  readonly stop: AbortSignal
  readonly force: AbortSignal
}

/** Writes a view's output to stdout and stderr. */
export class Terminal implements Output {
  readonly isColoured: boolean
  readonly #out: Stream
  readonly #err: Stream
  readonly #knownState: string
  readonly #dim: (text: string) => string
  readonly #isStatic: boolean

  constructor({ uncut, env, makeQuoter, describeDropped, hasTitle = false, ...problem }: Options) {
    const isDumb = env['TERM'] === 'dumb'
    const [out, err] = [fstatSync(1), fstatSync(2)]
    // What reads the pipe, such as `tee`, may print to the same terminal.
    this.#isStatic = isDumb || Boolean(env['CI']) || out.isFIFO() || out.isSocket()
    this.#knownState = isDumb ? '' : KNOWN_STATE
    this.isColoured = hasColour(1, env)
    this.#dim = this.isColoured || hasColour(2, env) ? (text) => `${DIM}${text}${NOT_DIM}` : String
    const open = (fd: 1 | 2, onProblem: WriteProblem, shared?: Stream): Stream => {
      const cursor = shared?.cursor ?? {
        isAtLineStart: true,
        line: new TerminalLine(),
        quoter: makeQuoter?.(),
      }
      if (!isTerminal(fd)) return { writer: new Writer(fd, onProblem), cursor, filter: undefined }
      const size = () => sizeOf(fd === 1 ? process.stdout : process.stderr)
      const filter = new AgentOutput(cursor.line, () => size().width, !uncut)
      const isPatient = describeDropped === undefined
      const make = () =>
        new LiveLines(
          new TerminalWriter(fd, onProblem.onClosed, isPatient),
          size,
          describeDropped ?? String,
          hasTitle ? new WindowTitle(env) : undefined,
        )
      return { writer: shared?.writer ?? make(), cursor, filter }
    }
    const isSame = out.dev === err.dev && out.ino === err.ino && out.rdev === err.rdev
    const ignored = { onClosed: () => undefined, onLost: () => undefined }
    this.#out = open(1, problem)
    this.#err = open(2, ignored, isSame ? this.#out : undefined)
  }

  bytes(stream: 'out' | 'err', bytes: Uint8Array, prefix?: string): void | Promise<void> {
    const target = stream === 'out' ? this.#out : this.#err
    if (prefix !== undefined) return this.#lines(target, bytes, prefix)
    const { writer, cursor, filter } = target
    const filtered = filter?.push(bytes) ?? bytes
    // After the filter: what it drops may be all that keeps a line from being a marker.
    const shown = cursor.quoter?.push(filtered) ?? filtered
    if (shown.length === 0) return
    cursor.isAtLineStart = shown[shown.length - 1] === NEWLINE
    return writer.write(shown)
  }

  line(text: string, { isPlain = false, prefix }: LineStyle = {}): void {
    this.#fresh(this.#out, text, isPlain ? String : this.#dim, prefix)
  }

  warn(text: string, prefix?: string): void {
    this.#fresh(this.#err, text, String, prefix)
  }

  /** Shows rows below the lines, only on a terminal. */
  live(render: RenderFrame): void {
    if (!this.#isStatic) this.#liveLines?.show(render)
  }

  refresh(): void {
    this.#liveLines?.refresh()
  }

  /** Rings the bell of a terminal. */
  ring(): void {
    this.#liveLines?.ring()
  }

  get #liveLines(): LiveLines | undefined {
    const { writer } = this.#out.filter === undefined ? this.#err : this.#out
    return writer instanceof LiveLines ? writer : undefined
  }

  /** Waits for the last output; after a stop only for a while, because a paused pager reads nothing. */
  async close({ stop, force }: Stopping): Promise<void> {
    for (const { writer, cursor, filter } of [this.#out, this.#err]) {
      const { text, reset } = filter?.finish() ?? { text: '', reset: '' }
      void writer.write(Buffer.concat([quoted(cursor, text), Buffer.from(reset)]))
    }
    const drained = Promise.all([this.#out.writer.drain(), this.#err.writer.drain()])
    const cause = await firstCause({ drained, stop })
    if (cause === 'stop') await firstCause({ drained, force, late: DRAIN_MS })
  }

  /** The rest of both streams at this cursor, to show before one of our lines. */
  #finishLines(cursor: Cursor): { readonly text: string; readonly reset: string } {
    const streams = [this.#out, this.#err].filter((each) => each.cursor === cursor)
    const rests = streams.flatMap(({ filter }) => filter?.finish() ?? [])
    return {
      text: rests.map(({ text }) => text).join(''),
      reset: rests.map(({ reset }) => reset).join(''),
    }
  }

  /** Whole lines of an agent. Colours end with their line. */
  #lines(stream: Stream, bytes: Uint8Array, prefix: string): void | Promise<void> {
    const { writer, cursor, filter } = stream
    const start = this.#startLine(stream)
    const shown = splitLines(bytes).flatMap((line) =>
      filter === undefined
        ? [Buffer.from(prefix), line]
        : [Buffer.from(`${this.#named(filter.rows(lastShown(line), prefix), prefix)}\n`)],
    )
    return writer.write(Buffer.concat([start, quoted(cursor, Buffer.concat(shown))]))
  }

  #fresh(
    stream: Stream,
    text: string,
    paint: (line: string) => string,
    prefix: string | undefined,
  ): void {
    const { writer, cursor, filter } = stream
    const start = this.#startLine(stream)
    const shown =
      filter === undefined
        ? `${prefix ?? ''}${text.replaceAll('\n', `\n${prefix ?? ''}`)}`
        : this.#paintLine(filter, printableLines(text), paint, prefix)
    void writer.write(Buffer.concat([start, quoted(cursor, `${shown}\n`)]), true)
  }

  #paintLine(
    filter: AgentOutput,
    text: string,
    paint: (line: string) => string,
    prefix: string | undefined,
  ): string {
    if (prefix === undefined) return paint(filter.quote(text))
    const rows = text.split('\n').flatMap((line) => filter.wrap(line, prefix))
    return this.#named(
      rows.map((row) => paint(filter.quote(row, prefix))),
      prefix,
    )
  }

  /** The first row of a line has the name of its branch as prefix, the others spaces. */
  #named(rows: readonly string[], prefix: string): string {
    if (prefix === '') return rows.join('\n')
    const border = prefix.slice(prefix.lastIndexOf('│'))
    const empty = ' '.repeat(Bun.stringWidth(prefix) - Bun.stringWidth(border)) + border
    return rows.map((row, index) => this.#dim(index === 0 ? prefix : empty) + row).join('\n')
  }

  /** What to print before a line that begins now. */
  #startLine({ cursor, filter }: Stream): Uint8Array {
    const { text: rest, reset } = this.#finishLines(cursor)
    const held = quoted(cursor, rest)
    const end = cursor.isAtLineStart && held.length === 0 ? '' : '\n'
    cursor.isAtLineStart = true
    cursor.line.clear()
    // In an open control string a newline would be lost.
    const between = `${reset}${filter === undefined ? '' : this.#knownState}${end}`
    return Buffer.concat([held, Buffer.from(between)])
  }
}

/** Returns the held-back part of a line, followed by a text after which a new line begins. */
function quoted({ quoter }: Cursor, text: string | Uint8Array): Uint8Array {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  return quoter === undefined ? bytes : Buffer.concat([quoter.push(bytes), quoter.finish()])
}

/** Lines including their line ends. */
function splitLines(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = []
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, from) + 1 || bytes.length
    lines.push(bytes.subarray(from, end))
    from = end
  }
  return lines
}

/** The visible part of a finished line: a carriage return starts it over. */
function lastShown(line: Uint8Array): string {
  const end = line.findLastIndex((byte) => byte !== RETURN && byte !== NEWLINE) + 1
  const text = line.subarray(0, end)
  return Buffer.from(text.subarray(text.lastIndexOf(RETURN) + 1)).toString()
}

function sizeOf({ columns, rows }: NodeJS.WriteStream): Size {
  return { width: columns || DEFAULT_COLUMNS, height: rows || DEFAULT_ROWS }
}
