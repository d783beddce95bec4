import { fstatSync, type Stats } from 'node:fs'
import { cut as cutToWidth } from '../base/columns.ts'
import { firstOf } from '../base/first-of.ts'
import { openLibc } from '../base/libc.ts'
import { printableLines } from '../base/printable.ts'
import { AgentOutput } from './agent-output.ts'
import { LineCutter } from './line-cutter.ts'
import type { Screen } from './screen.ts'
import { Writer, type Trouble } from './writer.ts'

const NEWLINE = 10
/** Back to the beginning of the line, and away with what stands there. */
const WIPE = '\r\u001b[K'
/** A window may have become narrower since it was asked: of two lines only the last would be wiped. */
const CUT = '\u001b[?7l'
const WRAP = '\u001b[?7h'

const DEFAULT_COLUMNS = 80

/** Ends a control string that somebody left open, and all colours. */
const KNOWN_STATE = '\u001b\\\u001b[0m'
const [DIM, NOT_DIM] = ['\u001b[2m', '\u001b[22m']

/** How long the last lines may take to be taken after a stop. */
const DRAIN_MS = 1000

/** Where the cursor is; two streams that lead to the same place share one. */
interface Cursor {
  isAtLineStart: boolean
}

interface Options extends Trouble {
  readonly uncut: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

interface Stream {
  readonly writer: Writer
  readonly cursor: Cursor
  readonly cutter: LineCutter | undefined
  /** Absent in a pipe or a file, where bytes stay as they are. */
  readonly filter: AgentOutput | undefined
}

interface Stopping {
  readonly stop: AbortSignal
  readonly force: AbortSignal
}

/** The two standard streams, as a view wants them. */
export class Terminal implements Screen {
  readonly #out: Stream
  readonly #err: Stream
  readonly #knownState: string
  readonly #dim: (text: string) => string
  #hasStatus = false

  constructor({ uncut, env, ...trouble }: Options) {
    const out = fstatSync(1)
    const err = fstatSync(2)
    const cursor: Cursor = { isAtLineStart: true }
    const isSame = out.dev === err.dev && out.ino === err.ino && out.rdev === err.rdev
    const isDumb = env['TERM'] === 'dumb'
    this.#knownState = isDumb ? '' : KNOWN_STATE
    this.#dim = isDumb || env['NO_COLOR'] ? String : (text) => `${DIM}${text}${NOT_DIM}`
    const shown = (isShown: boolean) => ({
      cutter: isShown && !uncut ? new LineCutter() : undefined,
      filter: isShown ? new AgentOutput() : undefined,
    })
    this.#out = { writer: new Writer(1, trouble), cursor, ...shown(isTerminal(1, out)) }
    this.#err = {
      writer: new Writer(2, { onClosed: () => undefined, onLost: () => undefined }),
      cursor: isSame ? cursor : { isAtLineStart: true },
      ...shown(isTerminal(2, err)),
    }
  }

  bytes(stream: 'out' | 'err', bytes: Uint8Array): void | Promise<void> {
    const { writer, cursor, cutter, filter } = stream === 'out' ? this.#out : this.#err
    const cut = cutter === undefined ? bytes : cutter.cut(bytes)
    const shown = filter === undefined ? cut : filter.push(cut)
    if (shown.length === 0) return
    this.#wipeStatus()
    cursor.isAtLineStart = shown[shown.length - 1] === NEWLINE
    return writer.write(shown)
  }

  line(text: string): void {
    this.#fresh(this.#out, text, this.#dim)
  }

  warn(text: string): void {
    this.#fresh(this.#err, text, String)
  }

  /** Of a log nobody would want a line a second. */
  status(text: string): void {
    if (this.#err.filter === undefined) return
    this.#hasStatus = true
    // From the beginning of the line an echoed ^C does not reach the next one.
    const line = cutToWidth(printableLines(text), process.stderr.columns || DEFAULT_COLUMNS)
    void this.#err.writer.write(Buffer.from(`${WIPE}${CUT}${line}${WRAP}\r`))
  }

  #wipeStatus(): void {
    if (!this.#hasStatus) return
    this.#hasStatus = false
    void this.#err.writer.write(Buffer.from(WIPE))
  }

  /** Waits until the last lines were taken; after a stop not for ever: a paused pager takes none. */
  async close({ stop, force }: Stopping): Promise<void> {
    for (const { writer, filter } of [this.#out, this.#err]) {
      const { text, reset } = filter?.finish() ?? { text: '', reset: '' }
      void writer.write(Buffer.from(text + reset))
    }
    const drained = Promise.all([this.#out.writer.drain(), this.#err.writer.drain()])
    const cause = await firstOf({ drained, stop })
    if (cause === 'stop') await firstOf({ drained, force, late: DRAIN_MS })
  }

  /** What is still to be shown of both streams that have this cursor, before a line of ours. */
  #finishLines(cursor: Cursor): { readonly text: string; readonly reset: string } {
    const streams = [this.#out, this.#err].filter((each) => each.cursor === cursor)
    const rests = streams.map(({ cutter, filter }) => {
      const note = cutter?.finishLine() ?? ''
      if (filter === undefined) return { text: note, reset: '' }
      const cut = Buffer.from(filter.push(Buffer.from(note))).toString()
      const { text, reset } = filter.finish()
      return { text: cut + text, reset }
    })
    return {
      text: rests.map(({ text }) => text).join(''),
      reset: rests.map(({ reset }) => reset).join(''),
    }
  }

  #fresh({ writer, cursor, filter }: Stream, text: string, paint: (line: string) => string): void {
    this.#wipeStatus()
    const rest = this.#finishLines(cursor)
    const end = cursor.isAtLineStart && rest.text === '' ? '' : '\n'
    cursor.isAtLineStart = true
    // In an open control string a newline would be lost.
    const before = `${rest.text}${rest.reset}${filter === undefined ? '' : this.#knownState}${end}`
    const line = filter === undefined ? text : paint(printableLines(text))
    void writer.write(Buffer.from(`${before}${line}\n`))
  }
}

/** Whether a person looks at it. A device may also be /dev/null; where only the system knows, it is asked. */
function isTerminal(fd: number, stat: Stats): boolean {
  if (!stat.isCharacterDevice()) return false
  const libc = openLibc({ isatty: { args: ['i32'], returns: 'i32' } })
  return libc === undefined || libc.isatty(fd) === 1
}
