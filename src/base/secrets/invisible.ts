// oxlint-disable no-control-regex

/** After this many bytes, the end of a control sequence is not waited for. */
const LONGEST_SEQUENCE = 4096

const CSI = String.raw`(?:\x1b\[|\xc2\x9b)[0-?]*[ -/]*`
const STRING = String.raw`\x1b[\]PX^_][^\x00-\x1f\x7f]*`
/** Control characters except tab and line ends, characters without width, and bytes that UTF-8 does not use. */
const CHARACTER = [
  String.raw`[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\xc0\xc1\xf5-\xff]`,
  String.raw`\xc2[\x80-\x9f\xad]`,
  String.raw`\xcd\x8f`,
  String.raw`\xe1(?:\x85[\x9f\xa0]|\xa0[\x8b-\x8f])`,
  String.raw`\xe2(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf])`,
  String.raw`\xe3\x85\xa4`,
  String.raw`\xef(?:\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0)`,
  String.raw`\xf3\xa0[\x80-\x87][\x80-\xbf]`,
].join('|')
/** The beginning of such a character. */
const CUT_CHARACTER = String.raw`[\xc2\xcd]|\xe1[\x85\xa0]?|\xe2[\x80\x81]?|\xe3\x85?|\xef[\xb8\xbb\xbe]?|\xf3(?:\xa0[\x80-\x87]?)?`
/** A quick test, because most output has nothing unseen. */
const HINT = new RegExp(`${CHARACTER}|(?:${CUT_CHARACTER})$`)
const INVISIBLE = new RegExp(
  String.raw`${CSI}[@-~]?|${STRING}(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]?|${CHARACTER}`,
  'g',
)
/** An incomplete one at the end of the text. */
const CUT = new RegExp(String.raw`(?:${CSI}|${STRING}\x1b?|\x1b[ -/]*|${CUT_CHARACTER})$`)

export function mayHaveInvisible(text: string): boolean {
  return HINT.test(text)
}

/** The invisible parts of a text. */
export function invisibleIn(text: string): string {
  return Array.from(text.matchAll(INVISIBLE), String).join('')
}

/** The text to search, and where its characters are in the original text. */
export interface VisibleText {
  readonly text: string
  place(at: number): number
}

/**
 * Removes colours, control characters and characters without width: a terminal does not show them, so
 * they must not hide a secret from the search.
 */
export function withoutInvisible(raw: string, isEnd: boolean): VisibleText {
  const cut = isEnd ? -1 : raw.slice(-LONGEST_SEQUENCE).search(CUT)
  const end = cut === -1 ? raw.length : Math.max(0, raw.length - LONGEST_SEQUENCE) + cut
  const pieces: { readonly at: number; readonly from: number }[] = []
  let text = ''
  let from = 0
  const add = (to: number) => {
    if (to <= from) return
    pieces.push({ at: text.length, from })
    text += raw.slice(from, to)
  }
  for (const { index, 0: sequence } of raw.matchAll(INVISIBLE)) {
    if (index >= end) break
    add(index)
    from = index + sequence.length
  }
  add(end)
  const place = (at: number) => {
    if (at >= text.length) return Math.max(end, from)
    const piece = pieces.findLast((each) => each.at <= at)!
    return piece.from + at - piece.at
  }
  return { text, place }
}
