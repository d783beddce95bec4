import { lineEnd } from './lines.ts'
import { readValue, type Entry } from './yaml-lines.ts'
import {
  commentAt,
  isBlankAt,
  isComment,
  isDash,
  lineStart,
  readFlow,
  skipBlanks,
  type Span,
} from './yaml-signs.ts'

/** An item of a list, with the whole lines that it has for itself. */
export interface Item extends Span {
  readonly lines: Span | undefined
}

/** The items of a list as they are written; undefined where the value is no list. */
export function findItems(text: string, { value }: Entry): Item[] | undefined {
  if (value.layout === 'block') return blockItems(text, value)
  if (value.layout !== 'flow' || text[value.start] !== '[') return undefined
  const { items } = readFlow(text, value.start, value.end)
  return items.map((item) => ({ ...item, lines: ownLines(text, item, value) }))
}

function blockItems(text: string, value: Entry['value']): Item[] | undefined {
  const items: Item[] = []
  for (let at = lineEnd(text, value.start, value.behind); at < value.behind;) {
    const end = lineEnd(text, at, value.behind)
    const dash = skipBlanks(text, at, end)
    if (isBlankAt(text, dash) || isComment(text, dash)) {
      at = end
      continue
    }
    if (!isDash(text, dash)) return undefined
    const holder = { indent: dash - at, isKey: false }
    const { layout, behind, start, end: last } = readValue(text, dash + 1, value.behind, holder)
    const isBelow = layout === 'block' || layout === 'scalar'
    items.push({ start, end: isBelow ? behind : last, lines: { start: at, end: behind } })
    at = behind
  }
  return items
}

/** The line of an item of a `[…]` over several lines, if nothing but its comma is there too. */
function ownLines(text: string, item: Span, list: Span): Span | undefined {
  const start = lineStart(text, item.start)
  const end = lineEnd(text, item.end)
  if (start <= list.start || end >= list.end) return undefined
  if (skipBlanks(text, start, item.start) !== item.start) return undefined
  const rest = skipBlanks(text, behindComma(text, item.end), end)
  return isBlankAt(text, rest) || isComment(text, rest) ? { start, end } : undefined
}

function behindComma(text: string, at: number): number {
  const comma = skipBlanks(text, at, text.length)
  return text[comma] === ',' ? comma + 1 : at
}

/** The text without one item of a list. */
export function removeItem(
  text: string,
  entry: Entry,
  items: readonly Item[],
  index: number,
): string {
  const item = items[index]!
  if (entry.value.layout === 'block' && items.length === 1) {
    const rest = text.slice(entry.colon, item.lines!.start) + text.slice(item.lines!.end)
    return `${text.slice(0, entry.colon)} []${rest}`
  }
  const cut = item.lines ?? inlineCut(text, items, index)
  return text.slice(0, cut.start) + text.slice(cut.end)
}

function inlineCut(text: string, items: readonly Item[], index: number): Span {
  const { start, end } = items[index]!
  const before = items[index - 1]
  const isLast = index === items.length - 1
  if (isLast && before !== undefined && !text.slice(before.end, start).includes('\n')) {
    return { start: before.end, end }
  }
  const behind = behindComma(text, end)
  return { start, end: isLast ? behind : skipBlanks(text, behind, text.length) }
}

/** The text with one more item at the end of a list. */
export function appendItem(
  text: string,
  entry: Entry,
  items: readonly Item[],
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
  const comma = behindComma(text, last.end) > last.end ? '' : ','
  const line = `${indent}${word}${comma === '' ? ',' : ''}${eol}`
  return text.slice(0, last.end) + comma + text.slice(last.end, end) + line + text.slice(end)
}

/** The text with another word in place of an item. */
export function replaceItem(text: string, item: Item | undefined, word: string): string {
  if (item === undefined) return text
  const blank = text[item.start - 1] === '-' ? ' ' : ''
  return text.slice(0, item.start) + blank + word + text.slice(item.end)
}

/** The text with another value in place of the one that an entry has; comments stay. */
export function replaceValue(text: string, { colon, value }: Entry, word: string): string {
  const { layout, start, end, behind } = value
  if (layout === 'plain' || layout === 'quoted' || layout === 'flow') {
    return text.slice(0, start) + word + text.slice(end)
  }
  const header = lineEnd(text, colon)
  const kept = layout === 'block' ? commentLines(text, header, behind) : ''
  const shown = layout === 'scalar' ? word : ` ${word}`
  return text.slice(0, start) + shown + text.slice(end, header) + kept + text.slice(behind)
}

function commentLines(text: string, from: number, to: number): string {
  const lines = text.slice(from, to).split(/(?<=\n)/)
  return lines.filter((line) => line.trimStart().startsWith('#')).join('')
}

/** Whether something in a value would be lost if it were written anew. */
export function hasComments(text: string, { value }: Entry): boolean {
  for (let at = value.start; at < value.end;) {
    const end = Math.min(lineEnd(text, at), value.end)
    if (text[commentAt(text, at, end)] === '#') return true
    at = end
  }
  return false
}
