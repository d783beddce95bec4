// Texts are cut before secrets are masked, and half a secret would not be recognised. Secrets contain
// no spaces, so only whole words are kept.

/** A text in one line, with single spaces. */
export function oneLine(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ')
}

/** `a, b and 3 more`; `count` is their number if not all are known. */
export function listed(names: readonly unknown[], most = names.length, count = names.length) {
  const shown = names.slice(0, most)
  const more = count - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** At most `length` characters of a text, cut after a word. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  const end = text.slice(0, Math.max(length, 1)).search(/\s\S*$/)
  return `${text.slice(0, Math.max(end, 0)).trimEnd()}…`
}

/** A text whose beginning was cut off, reduced to its whole lines or, if there are none, its whole words. */
export function shortenStart(text: string): string {
  // Without its first line, a private key would not be recognised.
  const end = text.indexOf('-----END')
  if (end !== -1 && !text.slice(0, end).includes('-----BEGIN')) return text.slice(end)
  const lines = text.slice(endOf(/\n/, text))
  const whole = lines.trim() === '' ? text.slice(endOf(/\s+/, text)) : lines
  return whole === '' ? '…' : whole
}

/** The end of the first match, or of the text. */
function endOf(pattern: RegExp, text: string): number {
  const match = pattern.exec(text)
  return match === null ? text.length : match.index + match[0].length
}

/** A text whose end was cut off, without a last word that may be part of a key. */
export function withoutCutKey(text: string): string {
  return text.replace(/[\w+/=.~-]+$/, '')
}
