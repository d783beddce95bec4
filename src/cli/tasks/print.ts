import { writeSync } from 'node:fs'
import { isatty } from 'node:tty'
import { errorCode, errorText, UserError } from '../../base/errors.ts'
import { printableLines } from '../../base/printable.ts'
import { isStdoutClosed } from '../closed-stdout.ts'

/** The result has no place to go: a full disk, a closed file. */
export class CannotPrint extends UserError {
  override readonly exitCode = 1
}

/** How long to wait for a reader of a pipe that does not block. */
const PAUSE_MS = 2

/** A line, or several, on stdout. Unlike `console.log` it does not hide that they are lost. */
export function print(text: string): void {
  try {
    if (isStdoutClosed()) throw new Error('stdout is closed')
    const shown = isatty(1) ? printableLines(text) : text
    writeWhole(1, new TextEncoder().encode(`${shown}\n`))
  } catch (error) {
    // Who closes the pipe has read enough.
    if (errorCode(error) === 'EPIPE') return
    throw new CannotPrint(
      `The output cannot be written: ${errorText(error)}`,
      'What was to be changed is changed; only the answer is lost.',
    )
  }
}

/** A record a line; nothing at all where there is none. */
export function printLines(lines: readonly string[]): void {
  if (lines.length > 0) print(lines.join('\n'))
}

/** All of it, however slowly it is read. */
function writeWhole(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(fd, bytes, done)
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN') throw error
      Bun.sleepSync(PAUSE_MS)
    }
  }
}
