import { canonicalId, renderId, type TaskId } from './id.ts'

const LONGEST_BYTES = 120

/** `TASK-001 - Short title.md`, safe on every file system. */
export function makeFileName(id: TaskId, title: string): string {
  // oxlint-disable-next-line no-control-regex
  const unsafe = /[\s<>:"/\\|?*\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g
  const safe = title.replaceAll(unsafe, ' ').trim()
  const short = cutBytes(safe, LONGEST_BYTES).replace(/[ .]+$/, '')
  return short === '' ? `${renderId(id)}.md` : `${renderId(id)} - ${short}.md`
}

/** The id that a file name begins with. */
export function idOfFileName(name: string): string | undefined {
  return canonicalId(/^(\w+-\d+)(?: - .*)?\.md$/i.exec(name)?.[1] ?? '')
}

/** Never cuts a grapheme in two. */
function cutBytes(text: string, limit: number): string {
  const encoder = new TextEncoder()
  const isLong = (each: string) => encoder.encode(each).length > limit
  if (!isLong(text)) return text
  let cut = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (isLong(cut + segment)) break
    cut += segment
  }
  return cut
}
