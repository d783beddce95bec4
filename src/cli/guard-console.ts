import { isatty } from 'node:tty'
import { printableLines } from '../base/printable.ts'

/**
 * On a terminal our lines are text and nothing else: they quote titles, file names and other words
 * that came with a clone. In a pipe they stay as they are.
 */
export function guardConsole(): void {
  if (isatty(1)) console.log = guarded(console.log)
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
