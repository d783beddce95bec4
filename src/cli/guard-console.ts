import { isTerminal } from '../base/terminal/is-terminal.ts'
import { printableLines } from '../base/terminal/printable.ts'
import { quoteLines } from '../engines/marker/line-quoter.ts'
import { print } from './tasks/print.ts'

/**
 * On a terminal our lines are text and nothing else: they quote titles, file names and other words
 * that came with a clone. In a pipe they stay as they are. Inside a run no line of others may count as
 * the agent's own. Results that cannot be written are an error, which `console.log` of the runtime hides.
 */
export function guardConsole(): void {
  console.log = print
  const isShown = isTerminal(2)
  const shown = (text: string) => quoteLines(isShown ? printableLines(text) : text, process.env)
  console.error = guarded(console.error, shown)
  console.warn = guarded(console.warn, shown)
}

function guarded(
  write: (...words: unknown[]) => void,
  shown: (text: string) => string,
): (...words: unknown[]) => void {
  return (...words) => {
    write.apply(
      console,
      words.map((word) => (typeof word === 'string' ? shown(word) : word)),
    )
  }
}
