import { isatty } from 'node:tty'
import { printableLines } from '../base/printable.ts'
import { print } from './tasks/print.ts'

/**
 * On a terminal our lines are text and nothing else: they quote titles, file names and other words
 * that came with a clone. In a pipe they stay as they are. Results that cannot be written are an
 * error, which `console.log` of the runtime hides.
 */
export function guardConsole(): void {
  console.log = print
  if (isatty(2)) {
    console.error = guarded(console.error)
    console.warn = guarded(console.warn)
  }
}

function guarded(write: (...words: unknown[]) => void): (...words: unknown[]) => void {
  return (...words) => {
    write.apply(
      console,
      words.map((word) => (typeof word === 'string' ? printableLines(word) : word)),
    )
  }
}
