import type { UserError } from '../base/errors.ts'
import { printableLines } from '../base/terminal/printable.ts'

/**
 * A user error as lines of text: prefix, problem, next action. They quote names and
 * texts of others, which are shown as text wherever the lines go.
 */
export function renderError(who: string, { message, hint }: UserError): string {
  const lines = `${who}: ${message.replaceAll('\n', '\n  ')}`
  return printableLines(hint === undefined ? lines : `${lines}\n  ${hint.replaceAll('\n', '\n  ')}`)
}
