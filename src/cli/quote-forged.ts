/** Invisible characters. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}\u2800]/gu
const OURS = /^\s*\[forkhestra\]/i
/** `[name]`, `[name to name]`, `[name: done]` and `[name: failed (class)]`. */
const NAME = String.raw`[\p{L}\p{N}_.:/@#-]+`
const HEADER = new RegExp(
  String.raw`^\s*\[${NAME}(?: to ${NAME})?(?:\](?:\s|$)|: (?:done|failed)\b)`,
  'iu',
)

/** Quotes lines of foreign text that look like forkhestra's own. */
export function quoteOurLines(text: string): string {
  return quoteWhere(text, (line) => OURS.test(line))
}

/** Also quotes lines that look like the header of a message. */
export function quoteHeaders(text: string): string {
  return quoteWhere(text, (line) => OURS.test(line) || HEADER.test(line))
}

function quoteWhere(text: string, isForged: (line: string) => boolean): string {
  if (!text.includes('[')) return text
  return text
    .split('\n')
    .map((line) => (isForged(line.replaceAll(UNSEEN, '')) ? `> ${line}` : line))
    .join('\n')
}
