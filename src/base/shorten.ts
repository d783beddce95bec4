// Texts are cut before their secrets are masked, and half a secret is not recognised. It has no
// spaces, so a word that is cut goes away whole.

/** At most so many characters of a text, to the end of a word. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  const end = text.slice(0, Math.max(length, 1)).search(/\s\S*$/)
  return `${text.slice(0, Math.max(end, 0)).trimEnd()}…`
}
