// Texts are cut before their secrets are masked, and half a secret is not recognised. It has no
// spaces, so a word that is cut goes away whole.

/** At most so many characters of a text, to the end of a word. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  const end = text.slice(0, Math.max(length, 1)).search(/\s\S*$/)
  return `${text.slice(0, Math.max(end, 0)).trimEnd()}…`
}

/** A text whose beginning is lost: its whole lines, or where that is none its whole words. */
export function shortenStart(text: string): string {
  // Only the first line of a private key says what the others are.
  const end = text.indexOf('-----END')
  if (end !== -1 && !text.slice(0, end).includes('-----BEGIN')) return text.slice(end)
  const lines = text.slice(endOf(/\n/, text))
  const whole = lines.trim() === '' ? text.slice(endOf(/\s+/, text)) : lines
  return whole === '' ? '…' : whole
}

/** Behind the first of these, or the end of the text. */
function endOf(pattern: RegExp, text: string): number {
  const match = pattern.exec(text)
  return match === null ? text.length : match.index + match[0].length
}

/** A text whose end is lost, without the piece of a key that may stand there; other letters than those of keys stay. */
export function withoutCutKey(text: string): string {
  return text.replace(/[\w+/=.~-]+$/, '')
}
