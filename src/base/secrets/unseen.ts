// oxlint-disable no-control-regex

/** After this many bytes, the end of a control sequence is not waited for. */
const LONGEST_SEQUENCE = 4096

const CSI = String.raw`(?:\x1b\[|\xc2\x9b)[0-?]*[ -/]*`
const STRING = String.raw`\x1b[\]PX^_][^\x00-\x1f\x7f]*`
/** Control characters except tab and line ends, and characters without width. */
const CHARACTER = [
  String.raw`[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]`,
  String.raw`\xc2[\x80-\x9f\xad]`,
  String.raw`\xe2\x80[\x8b-\x8f\xaa-\xae]`,
  String.raw`\xe2\x81[\xa0-\xaf]`,
  String.raw`\xef\xbb\xbf`,
].join('|')
/** A quick test, because most output has nothing unseen. */
const HINT = new RegExp(`${CHARACTER}|[\\xc2\\xe2\\xef][\\x80\\x81\\xbb]?$`)
const UNSEEN = new RegExp(
  String.raw`${CSI}[@-~]?|${STRING}(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]?|${CHARACTER}`,
  'g',
)
/** An incomplete one at the end of the text. */
const CUT = new RegExp(
  String.raw`(?:${CSI}|${STRING}\x1b?|\x1b[ -/]*|\xc2|\xe2[\x80\x81]?|\xef\xbb?)$`,
)

export function mayHaveUnseen(text: string): boolean {
  return HINT.test(text)
}

/** What is not seen of a text. */
export function unseenIn(text: string): string {
  return Array.from(text.matchAll(UNSEEN), String).join('')
}

/** The text to search, and where its characters are in the original text. */
export interface Seen {
  readonly text: string
  place(at: number): number
}

/**
 * Removes colours, control characters and characters without width: a terminal does not show them, so
 * they must not hide a secret from the search.
 */
export function withoutUnseen(raw: string, isEnd: boolean): Seen {
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
  for (const { index, 0: sequence } of raw.matchAll(UNSEEN)) {
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
