/** A text as one word of a shell command, always quoted. */
export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}

/** A text as one word of a shell command, quoted only if necessary. */
export function shellWord(text: string): string {
  return /^[\w.,:/-]+$/.test(text) ? text : shellQuote(text)
}

/** In double quotes, which are easier to edit, if the shell does not expand the text in them. */
export function doubleQuote(text: string): string {
  return /["$`\\!]/.test(text) ? shellQuote(text) : `"${text}"`
}
