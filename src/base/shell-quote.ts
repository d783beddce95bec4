/** A text as one word of a shell command, always quoted. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** A text as one word of a shell command, quoted only if necessary. */
export function shellWord(text: string): string {
  return /^[\w.,:/-]+$/.test(text) ? text : shellQuote(text)
}
