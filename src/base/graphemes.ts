const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Longer than any character; the rest of a long text need not be looked at. */
const LONGEST = 64

/** The first character of a text, as a person sees characters. */
export function firstCharacter(text: string): string {
  const [first] = graphemes.segment(text.slice(0, LONGEST))
  return first?.segment ?? ''
}

/** The text without its last character. */
export function withoutLast(text: string): string {
  const last = [...graphemes.segment(text.slice(-LONGEST))].at(-1)
  return text.slice(0, text.length - (last?.segment.length ?? 0))
}

/** All characters of a text. */
export function characters(text: string): string[] {
  return [...graphemes.segment(text)].map(({ segment }) => segment)
}
