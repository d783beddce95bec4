import { lineEnd } from './lines.ts'
import { readValue, type Entry } from './yaml-lines.ts'
import {
  commentAt,
  isBlankAt,
  isComment,
  isDash,
  readFlow,
  skipBlanks,
  type Span,
} from './yaml-tokens.ts'

export interface YamlItem extends Span {
  /** The whole lines of the item, if nothing else is on them. */
  readonly lines: Span | undefined
}

/** Undefined if the value is not a list. */
export function findListItems(text: string, { value }: Entry): YamlItem[] | undefined {
  if (value.layout === 'block') return blockItems(text, value)
  if (value.layout !== 'flow' || text[value.start] !== '[') return undefined
  const { items } = readFlow(text, value.start, value.end)
  return items.map((item) => ({ ...item, lines: ownLines(text, item, value) }))
}

function blockItems(text: string, value: Entry['value']): YamlItem[] | undefined {
  const items: YamlItem[] = []
  for (let at = lineEnd(text, value.start, value.next); at < value.next;) {
    const end = lineEnd(text, at, value.next)
    const dash = skipBlanks(text, at, end)
    if (isBlankAt(text, dash) || isComment(text, dash)) {
      at = end
      continue
    }
    if (!isDash(text, dash)) return undefined
    const container = { indent: dash - at, isKey: false }
    const { layout, next, start, end: last } = readValue(text, dash + 1, value.next, container)
    const isBelow = layout === 'block' || layout === 'scalar'
    items.push({ start, end: isBelow ? next : last, lines: { start: at, end: next } })
    at = next
  }
  return items
}

/** The line of an item in a multi-line `[…]`, if only the item and its comma are on it. */
function ownLines(text: string, item: Span, list: Span): Span | undefined {
  // Checks the cheap condition first, because a line may have thousands of items.
  let start = item.start
  while (text[start - 1] === ' ' || text[start - 1] === '\t') start -= 1
  if (start <= list.start || text[start - 1] !== '\n') return undefined
  const rest = skipBlanks(text, afterComma(text, item.end), list.end)
  if (!isBlankAt(text, rest) && !isComment(text, rest)) return undefined
  const end = lineEnd(text, rest)
  return end < list.end ? { start, end } : undefined
}

function afterComma(text: string, at: number): number {
  const comma = skipBlanks(text, at, text.length)
  return text[comma] === ',' ? comma + 1 : at
}

/** Removes items by position; `gone` is in ascending order. */
export function removeItems(
  text: string,
  entry: Entry,
  items: readonly YamlItem[],
  gone: readonly number[],
): string {
  const kept: string[] = []
  let last = items.length - 1
  let [from, after] = [text.length, items.at(-1)?.end ?? 0]
  // From the end, so that each item knows whether it is the last one left.
  for (const index of gone.toReversed()) {
    const item = items[index]
    if (item === undefined) continue
    const isLast = index === last
    const end = isLast ? after : item.end
    const cut = item.lines ?? inlineCut(text, items, index, isLast ? end : undefined)
    kept.push(text.slice(cut.end, from))
    from = cut.start
    if (isLast) last -= 1
    const before = items[index - 1]?.end ?? 0
    after = cut.start === before ? cut.end : before
  }
  const isEmptied = entry.value.layout === 'block' && gone.length === items.length
  const head = text.slice(0, from)
  const start = isEmptied ? `${head.slice(0, entry.colon)} []${head.slice(entry.colon)}` : head
  return start + kept.toReversed().join('')
}

/** `after` is given for the last item: where the text continues. */
function inlineCut(text: string, items: readonly YamlItem[], index: number, after?: number): Span {
  const { start, end } = items[index]!
  const before = items[index - 1]
  if (after === undefined) {
    return { start, end: skipBlanks(text, afterComma(text, end), text.length) }
  }
  const isAlone = before === undefined || text.slice(before.end, start).includes('\n')
  return isAlone ? { start, end: afterComma(text, after) } : { start: before.end, end: after }
}

export function appendItem(
  text: string,
  entry: Entry,
  items: readonly YamlItem[],
  word: string,
  eol: string,
): string {
  const last = items.at(-1)
  const insert = (at: number, more: string) => text.slice(0, at) + more + text.slice(at)
  if (last === undefined) return insert(entry.value.start + 1, word)
  if (last.lines === undefined) return insert(last.end, `, ${word}`)
  const { start, end } = last.lines
  const first = skipBlanks(text, start, end)
  const indent = text.slice(start, first)
  if (entry.value.layout === 'block') return insert(end, `${indent}- ${word}${eol}`)
  const comma = afterComma(text, last.end) > last.end ? '' : ','
  const line = `${indent}${word}${comma === '' ? ',' : ''}${eol}`
  return text.slice(0, last.end) + comma + text.slice(last.end, end) + line + text.slice(end)
}

/** Keeps comments. */
export function replaceValue(text: string, { colon, value }: Entry, word: string): string {
  const { layout, start, end, next } = value
  if (layout === 'plain' || layout === 'quoted' || layout === 'flow') {
    return text.slice(0, start) + word + text.slice(end)
  }
  const header = lineEnd(text, colon)
  const kept = layout === 'block' ? commentLines(text, header, next) : ''
  const shown = layout === 'scalar' ? word : ` ${word}`
  return text.slice(0, start) + shown + text.slice(end, header) + kept + text.slice(next)
}

function commentLines(text: string, from: number, to: number): string {
  const lines = text.slice(from, to).split(/(?<=\n)/)
  return lines.filter((line) => line.trimStart().startsWith('#')).join('')
}

/** Whether rewriting the value would lose comments. */
export function hasComments(text: string, { value }: Entry): boolean {
  for (let at = value.start; at < value.end;) {
    const end = Math.min(lineEnd(text, at), value.end)
    if (text[commentAt(text, at, end)] === '#') return true
    at = end
  }
  return false
}
