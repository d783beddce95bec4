import { readId, renderId, type TaskId } from './id.ts'

const LONGEST_BYTES = 120

/** `TASK-001 - Short title.md`, safe on every file system. */
export function makeFileName(id: TaskId, title: string): string {
  const safe = title
    // oxlint-disable-next-line no-control-regex
    .replaceAll(/[<>:"/\\|?*\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  const short = cutBytes(safe, LONGEST_BYTES).replace(/[ .]+$/, '')
  return short === '' ? `${renderId(id)}.md` : `${renderId(id)} - ${short}.md`
}

/** The id at the beginning of a file's name, if there is one. */
export function idOfFileName(name: string): TaskId | undefined {
  const match = /^([A-Za-z][A-Za-z0-9_]*-\d+)(?: - .*)?\.md$/i.exec(name)
  return match === null ? undefined : readId(match[1]!)
}

const [ZERO, MOST_DIGITS] = ['0'.charCodeAt(0), 9]

/** The number of that id, where it has this prefix. For names as they are made it needs no pattern. */
export function numberOfFileName(name: string, prefix: string): number | undefined {
  const start = prefix.length + 1
  let [at, number] = [start, 0]
  for (let digit = digitAt(name, at); digit >= 0 && digit <= 9; digit = digitAt(name, ++at)) {
    number = number * 10 + digit
  }
  const isUsual = at > start && at - start <= MOST_DIGITS && name.startsWith(' - ', at)
  if (isUsual && name.startsWith('-', start - 1) && name.startsWith(prefix)) return number
  const id = idOfFileName(name)
  return id?.prefix === prefix ? id.number : undefined
}

function digitAt(name: string, at: number): number {
  return name.charCodeAt(at) - ZERO
}

/** Whole characters only, also those that are made of several. */
function cutBytes(text: string, limit: number): string {
  if (Buffer.byteLength(text) <= limit) return text
  let cut = ''
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    if (Buffer.byteLength(cut + segment) > limit) break
    cut += segment
  }
  return cut
}
