import { fstatSync } from 'node:fs'
import { cut as cutToWidth } from './terminal/columns.ts'
import { firstCause } from '../base/first-cause.ts'
import { isTerminal } from '../base/terminal/is-terminal.ts'
import { printableLines } from '../base/terminal/printable.ts'
import { AgentOutput, TerminalLine } from './agent-output.ts'
import type { Output } from './screen.ts'
import { Writer, type WriteProblem } from './writer.ts'

const NEWLINE = 10
/** Moves to the start of the line and erases it. */
const WIPE = '\r\u001b[K'
/** Turns wrapping off for the status: in a window that became narrower, only its last line would be erased. */
const CUT = '\u001b[?7l'
const WRAP = '\u001b[?7h'

const DEFAULT_COLUMNS = 80

/** Ends an open control string and all colours. */
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
  readonly uncut: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** By default lines stay as they are. */
  readonly makeQuoter?: (() => Quoter) | undefined
}

interface Stream {
  readonly writer: Writer
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
  readonly #out: Stream
  readonly #err: Stream
  readonly #knownState: string
  readonly #dim: (text: string) => string
  #hasStatus = false

  constructor({ uncut, env, makeQuoter, ...problem }: Options) {
    const out = fstatSync(1)
    const err = fstatSync(2)
    const [isOutShown, isErrShown] = [isTerminal(1), isTerminal(2)]
    const makeCursor = (): Cursor => ({
      isAtLineStart: true,
      line: new TerminalLine(),
      quoter: makeQuoter?.(),
    })
    const cursor = makeCursor()
    const isSame = out.dev === err.dev && out.ino === err.ino && out.rdev === err.rdev
    const isDumb = env['TERM'] === 'dumb'
    this.#knownState = isDumb ? '' : KNOWN_STATE
    this.#dim = isDumb || env['NO_COLOR'] ? String : (text) => `${DIM}${text}${NOT_DIM}`
    const shown = (isShown: boolean, { line }: Cursor, name: 'stdout' | 'stderr') => ({
      filter: isShown ? new AgentOutput(line, () => columnsOf(process[name]), !uncut) : undefined,
    })
    const errCursor = isSame ? cursor : makeCursor()
    this.#out = {
      writer: new Writer(1, problem),
      cursor,
      ...shown(isOutShown, cursor, 'stdout'),
    }
    this.#err = {
      writer: new Writer(2, { onClosed: () => undefined, onLost: () => undefined }),
      cursor: errCursor,
      ...shown(isErrShown, errCursor, 'stderr'),
    }
  }

  bytes(stream: 'out' | 'err', bytes: Uint8Array): void | Promise<void> {
    const { writer, cursor, filter } = stream === 'out' ? this.#out : this.#err
    const filtered = filter?.push(bytes) ?? bytes
    // Only now: what the filter drops may be all that keeps a line from being a marker.
    const shown = cursor.quoter?.push(filtered) ?? filtered
    if (shown.length === 0) return
    this.#wipeStatus()
    cursor.isAtLineStart = shown[shown.length - 1] === NEWLINE
    return writer.write(shown)
  }

  line(text: string, look?: 'plain'): void {
    this.#fresh(this.#out, text, look === 'plain' ? String : this.#dim)
  }

  warn(text: string): void {
    this.#fresh(this.#err, text, String)
  }

  /** Only on a terminal: a log would get a line per second. */
  status(text: string): void {
    if (this.#err.filter === undefined) return
    this.#hasStatus = true
    // With the cursor at the start of the line, an echoed ^C does not wrap.
    const line = cutToWidth(printableLines(text), columnsOf(process.stderr))
    this.#err.cursor.line.clear()
    void this.#err.writer.write(Buffer.from(`${WIPE}${CUT}${line}${WRAP}\r`))
  }

  #wipeStatus(): void {
    if (!this.#hasStatus) return
    this.#hasStatus = false
    void this.#err.writer.write(Buffer.from(WIPE))
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

  /** The rest of both streams with this cursor, to be shown before one of our lines. */
  #finishLines(cursor: Cursor): { readonly text: string; readonly reset: string } {
    const streams = [this.#out, this.#err].filter((each) => each.cursor === cursor)
    const rests = streams.flatMap(({ filter }) => filter?.finish() ?? [])
    return {
      text: rests.map(({ text }) => text).join(''),
      reset: rests.map(({ reset }) => reset).join(''),
    }
  }

  #fresh({ writer, cursor, filter }: Stream, text: string, paint: (line: string) => string): void {
    this.#wipeStatus()
    const { text: rest, reset } = this.#finishLines(cursor)
    const held = quoted(cursor, rest)
    const end = cursor.isAtLineStart && held.length === 0 ? '' : '\n'
    cursor.isAtLineStart = true
    cursor.line.clear()
    // In an open control string a newline would be lost.
    const between = `${reset}${filter === undefined ? '' : this.#knownState}${end}`
    const line = filter === undefined ? text : paint(filter.quote(printableLines(text)))
    void writer.write(Buffer.concat([held, Buffer.from(between), quoted(cursor, `${line}\n`)]))
  }
}

/** What was held back of a line, and a text after which another one begins. */
function quoted({ quoter }: Cursor, text: string): Uint8Array {
  if (quoter === undefined) return Buffer.from(text)
  return Buffer.concat([quoter.push(Buffer.from(text)), quoter.finish()])
}

function columnsOf({ columns }: NodeJS.WriteStream): number {
  return columns || DEFAULT_COLUMNS
}
