import { readId, renderId, type TaskId } from './id.ts'

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
export function idOfFileName(name: string): TaskId | undefined {
  const match = /^([A-Za-z][A-Za-z0-9_]*-\d+)(?: - .*)?\.md$/i.exec(name)
  return match === null ? undefined : readId(match[1]!)
}

const [ZERO, MOST_DIGITS] = ['0'.charCodeAt(0), 9]

/** The number of the id in a file name, if the id has this prefix. */
export function numberOfFileName(name: string, prefix: string): number | undefined {
  const start = prefix.length + 1
  let at = start
  let number = 0
  // Without a regular expression: creating a task checks every name of the folder.
  for (; at < name.length; at++) {
    const digit = name.charCodeAt(at) - ZERO
    if (digit < 0 || digit > 9) break
    number = number * 10 + digit
  }
  const isUsual = at > start && at - start <= MOST_DIGITS && name.startsWith(' - ', at)
  if (isUsual && name.startsWith('-', start - 1) && name.startsWith(prefix)) return number
  const id = idOfFileName(name)
  return id?.prefix === prefix ? id.number : undefined
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
