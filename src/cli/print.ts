import { writeAll } from '../base/files.ts'
import { errorCode, errorText, UserError } from '../base/errors.ts'
import { hasColour } from '../base/terminal/colour.ts'
import { isTerminal } from '../base/linux/is-terminal.ts'
import { printableLines } from '../base/terminal/printable.ts'
import { makePaint, NO_PAINT } from '../views/terminal/columns.ts'
import type { Layout } from '../views/layout.ts'
import { quoteLines } from '../engines/marker/line-quoter.ts'
import { isStdoutClosed } from './closed-stdout.ts'
import type { Input } from './command.ts'

/** Writing to stdout failed, for example because of a full disk or a closed file. */
export class CannotPrint extends UserError {
  override readonly exitCode = 1
}

/** Writes lines to stdout. Unlike `console.log`, throws if they cannot be written. */
export function print(text: string): void {
  write(shownText(text))
}

/** Writes lines of which everything foreign is printable already, so that our colours pass. */
export function printPainted(lines: readonly string[]): void {
  write(quoteLines(lines.join('\n'), process.env))
}

/** The width and the colours of stdout. */
export function stdoutLayout(): Layout {
  const { columns } = process.stdout
  return { width: columns || undefined, paint: hasColour(1) ? makePaint(true) : NO_PAINT }
}

function write(text: string): void {
  try {
    if (isStdoutClosed()) throw new Error('stdout is closed')
    writeAll(1, new TextEncoder().encode(`${text}\n`))
  } catch (error) {
    // The reader closed the pipe on purpose.
    if (errorCode(error) === 'EPIPE') return
    throw new CannotPrint(
      `Cannot write the output: ${errorText(error)}`,
      'All changes were made; only the output is lost.',
    )
  }
}

export function shownText(text: string): string {
  return quoteLines(isTerminal(1) ? printableLines(text) : text, process.env)
}

/** One record per line; prints nothing if there is none. */
export function printLines(lines: readonly string[]): void {
  if (lines.length > 0) print(lines.join('\n'))
}

/** Prints the result of a command, as JSON with `--json`; returns the exit code 0. */
export function printResult(input: Input, json: object, text: string): number {
  print(input.flag('json') ? JSON.stringify(json) : text)
  return 0
}

/** Prints the ids of changed tasks; `done` is the message for people. */
export function printIds(ids: readonly string[], input: Input, done: string): void {
  if (input.flag('json')) print(JSON.stringify({ ids }))
  else if (input.flag('plain')) printLines(ids)
  else print(done)
}
