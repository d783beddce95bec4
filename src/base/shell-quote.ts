/** A word that the shell takes as it is. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** The same, in quotes only where it needs them. */
export function shellWord(text: string): string {
  return /^[\w.,:/-]+$/.test(text) ? text : shellQuote(text)
}
