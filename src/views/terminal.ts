import { fstatSync, type Stats } from 'node:fs'
import { firstOf } from '../base/first-of.ts'
import { openLibc } from '../base/libc.ts'
import { LineCutter } from './line-cutter.ts'
import type { Screen } from './screen.ts'
import { Writer, type Trouble } from './writer.ts'

const NEWLINE = 10
/** Back to the beginning of the line, and away with what stands there. */
const WIPE = '\r\u001b[K'
/** What is too long for one line is cut by the terminal itself: of two only the last would be wiped. */
const CUT = '\u001b[?7l'
const WRAP = '\u001b[?7h'

/** How long the last lines may take to be taken after a stop. */
const DRAIN_MS = 1000

/** Where the cursor is; two streams that lead to the same place share one. */
interface Cursor {
  isAtLineStart: boolean
}

interface Stopping {
  readonly stop: AbortSignal
  readonly force: AbortSignal
}

/** The two standard streams, as a view wants them. */
export class Terminal implements Screen {
  readonly #out
  readonly #err
  readonly #isWatched: boolean
  #hasStatus = false

  constructor(options: Trouble & { readonly uncut: boolean }) {
    const out = fstatSync(1)
    const err = fstatSync(2)
    const cursor: Cursor = { isAtLineStart: true }
    const isSame = out.dev === err.dev && out.ino === err.ino && out.rdev === err.rdev
    this.#isWatched = isTerminal(2, err)
    const cutter = (isShown: boolean) => (isShown && !options.uncut ? new LineCutter() : undefined)
    this.#out = {
      writer: new Writer(1, options),
      cursor,
      cutter: cutter(isTerminal(1, out)),
    }
    this.#err = {
      writer: new Writer(2, { onClosed: () => undefined, onLost: () => undefined }),
      cursor: isSame ? cursor : { isAtLineStart: true },
      cutter: cutter(isTerminal(2, err)),
    }
  }

  bytes(stream: 'out' | 'err', bytes: Uint8Array): void | Promise<void> {
    const { writer, cursor, cutter } = stream === 'out' ? this.#out : this.#err
    const shown = cutter === undefined ? bytes : cutter.cut(bytes)
    if (shown.length === 0) return
    this.#wipeStatus()
    cursor.isAtLineStart = shown[shown.length - 1] === NEWLINE
    return writer.write(shown)
  }

  line(text: string): void {
    this.#fresh('out', text)
  }

  warn(text: string): void {
    this.#fresh('err', text)
  }

  /** Of a log nobody would want a line a second. */
  status(text: string): void {
    if (!this.#isWatched) return
    this.#hasStatus = true
    // From the beginning of the line an echoed ^C does not reach the next one.
    void this.#err.writer.write(Buffer.from(`${WIPE}${CUT}${text}${WRAP}\r`))
  }

  #wipeStatus(): void {
    if (!this.#hasStatus) return
    this.#hasStatus = false
    void this.#err.writer.write(Buffer.from(WIPE))
  }

  /** Waits until the last lines were taken; after a stop not for ever: a paused pager takes none. */
  async close({ stop, force }: Stopping): Promise<void> {
    const drained = Promise.all([this.#out.writer.drain(), this.#err.writer.drain()])
    const cause = await firstOf({ drained, stop })
    if (cause === 'stop') await firstOf({ drained, force, late: DRAIN_MS })
  }

  /** What is to be said of lines that were cut, where the next one begins. */
  #finishLines(cursor: Cursor): string {
    const own = this.#out.cursor === cursor ? (this.#out.cutter?.finishLine() ?? '') : ''
    const other = this.#err.cursor === cursor ? (this.#err.cutter?.finishLine() ?? '') : ''
    return own + other
  }

  #fresh(stream: 'out' | 'err', text: string): void {
    this.#wipeStatus()
    const { writer, cursor } = stream === 'out' ? this.#out : this.#err
    const notes = this.#finishLines(cursor)
    const before = cursor.isAtLineStart ? '' : `${notes}\n`
    cursor.isAtLineStart = true
    void writer.write(Buffer.from(`${before}${text}\n`))
  }
}

/** Whether a person looks at it. A device may also be /dev/null; where only the system knows, it is asked. */
function isTerminal(fd: number, stat: Stats): boolean {
  if (!stat.isCharacterDevice()) return false
  const libc = openLibc({ isatty: { args: ['i32'], returns: 'i32' } })
  return libc === undefined || libc.isatty(fd) === 1
}
