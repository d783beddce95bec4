import type { UserError } from '../base/errors.ts'

/** A user's mistake as lines for a person: who speaks, what is wrong, what to do next. */
export function renderError(who: string, { message, hint }: UserError): string {
  const lines = `${who}: ${message.replaceAll('\n', '\n  ')}`
  return hint === undefined ? lines : `${lines}\n  ${hint.replaceAll('\n', '\n  ')}`
}
