const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

/** Longer than any character, so that only a part of a long text is segmented. */
const LONGEST = 64

/** The first character of a text, as people count characters. */
export function firstCharacter(text: string): string {
  const [first] = graphemes.segment(text.slice(0, LONGEST))
  return first?.segment ?? ''
}

/** The text without its last character. */
export function withoutLast(text: string): string {
  const last = [...graphemes.segment(text.slice(-LONGEST))].at(-1)
  return text.slice(0, text.length - (last?.segment.length ?? 0))
}

export function characters(text: string): string[] {
  return [...graphemes.segment(text)].map(({ segment }) => segment)
}
