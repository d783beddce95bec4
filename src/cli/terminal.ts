import { fstatSync } from 'node:fs'
import { isTerminal } from '../run/libc.ts'
import { LineCutter } from '../views/line-cutter.ts'
import type { Screen } from '../views/screen.ts'
import { Writer } from './writer.ts'

const NEWLINE = 10

/** How long the last lines may take to be taken before the process ends all the same. */
const DRAIN_MS = 1000

/** Where the cursor is; two streams that lead to the same place share one. */
interface Cursor {
  isAtLineStart: boolean
}

/** The two standard streams, as a view wants them. */
export class Terminal implements Screen {
  readonly #out
  readonly #err

  constructor(options: { readonly uncut: boolean; readonly onClosed: (error: unknown) => void }) {
    const out = fstatSync(1)
    const err = fstatSync(2)
    const cursor: Cursor = { isAtLineStart: true }
    const isSame = out.dev === err.dev && out.ino === err.ino && out.rdev === err.rdev
    const cutter = (isShown: boolean) => (isShown && !options.uncut ? new LineCutter() : undefined)
    this.#out = {
      writer: new Writer(1, options.onClosed),
      cursor,
      cutter: cutter(isTerminal(1) ?? out.isCharacterDevice()),
    }
    this.#err = {
      writer: new Writer(2, () => undefined),
      cursor: isSame ? cursor : { isAtLineStart: true },
      cutter: cutter(isTerminal(2) ?? err.isCharacterDevice()),
    }
  }

  bytes(stream: 'out' | 'err', bytes: Uint8Array): void | Promise<void> {
    const { writer, cursor, cutter } = stream === 'out' ? this.#out : this.#err
    const shown = cutter === undefined ? bytes : cutter.cut(bytes)
    if (shown.length === 0) return
    cursor.isAtLineStart = shown[shown.length - 1] === NEWLINE
    return writer.write(shown)
  }

  line(text: string): void {
    this.#fresh('out', text)
  }

  warn(text: string): void {
    this.#fresh('err', text)
  }

  /** Waits for the last lines, but not for ever: a stopped pager takes none. */
  async close(): Promise<void> {
    const drained = Promise.all([this.#out.writer.drain(), this.#err.writer.drain()])
    await Promise.race([drained, Bun.sleep(DRAIN_MS)])
  }

  #fresh(stream: 'out' | 'err', text: string): void {
    const { writer, cursor } = stream === 'out' ? this.#out : this.#err
    const cutters = [this.#out, this.#err].filter((each) => each.cursor === cursor)
    const notes = cutters.map(({ cutter }) => cutter?.finishLine() ?? '').join('')
    const before = cursor.isAtLineStart ? '' : `${notes}\n`
    cursor.isAtLineStart = true
    void writer.write(Buffer.from(`${before}${text}\n`))
  }
}
