import { isStatusLine, mayBecomeStatusLine } from './status-line.ts'
import type { Environment } from '../../base/environment.ts'

const QUOTE = Buffer.from('> ')
const NEWLINE = 10
/** A longer start of a line is not held back: it is quoted if it may still become a status line. */
const LONGEST_HELD = 256

/**
 * Quotes lines that would complete or block a step. Inside a run, forwarded output of others would otherwise
 * count as output of the agent that called us.
 */
export class LineQuoter {
  /** The start of a line that may become a status line. */
  #held = Buffer.alloc(0)
  #isDecided = false

  push(bytes: Uint8Array): Uint8Array {
    const parts: Uint8Array[] = []
    let from = 0
    while (from < bytes.length) {
      const newline = bytes.indexOf(NEWLINE, from)
      const end = newline === -1 ? bytes.length : newline + 1
      parts.push(this.#take(bytes.subarray(from, end), newline !== -1))
      from = end
    }
    return Buffer.concat(parts)
  }

  /** Returns what was held back; the line ends here. */
  finish(): Uint8Array {
    const line = this.#held
    this.#held = Buffer.alloc(0)
    this.#isDecided = false
    return isStatusLine(line) ? Buffer.concat([QUOTE, line]) : line
  }

  #take(piece: Uint8Array, isEnd: boolean): Uint8Array {
    if (this.#isDecided) {
      this.#isDecided = !isEnd
      return piece
    }
    this.#held = Buffer.concat([this.#held, piece])
    if (isEnd) return this.finish()
    const mayBecome = mayBecomeStatusLine(this.#held.subarray(0, LONGEST_HELD))
    if (mayBecome && this.#held.length <= LONGEST_HELD) return this.#held.subarray(0, 0)
    const start = this.#held
    this.#held = Buffer.alloc(0)
    this.#isDecided = true
    return mayBecome ? Buffer.concat([QUOTE, start]) : start
  }
}

/** Quotes a whole text, if it is printed inside a run. */
export function quoteLines(text: string, env: Environment): string {
  const quoter = quoterInside(env)?.()
  if (quoter === undefined) return text
  return Buffer.concat([quoter.push(Buffer.from(text)), quoter.finish()]).toString()
}

/** Undefined outside a run, where nothing needs quotes. */
export function quoterInside(env: Environment): (() => LineQuoter) | undefined {
  return env['FORKHESTRA_RUN_ID'] ? () => new LineQuoter() : undefined
}
