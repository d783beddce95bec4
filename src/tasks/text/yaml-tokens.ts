import { lineEnd } from './lines.ts'

export interface Span {
  readonly start: number
  readonly end: number
}

/** The end of a quoted string, after the quote; `limit` if it is not closed. */
export function quoteEnd(text: string, start: number, limit: number): number {
  const quote = text[start]!
  for (let at = start + 1; at < limit; at += 1) {
    if (quote === '"' && text[at] === '\\') at += 1
    else if (text[at] === quote) {
      if (quote === '"' || text[at + 1] !== "'") return at + 1
      at += 1
    }
  }
  return limit
}

/** The end of a `[…]` or `{…}` and its items, without nested ones. */
export function readFlow(
  text: string,
  start: number,
  limit: number,
): { end: number; items: Span[] } {
  const items: Span[] = []
  let item: Span | undefined
  let depth = 0
  for (const { at, next, character } of flowTokens(text, start, limit)) {
    if (character === ']' || character === '}') depth -= 1
    if (depth === 0 && at > start) {
      return { end: next, items: item === undefined ? items : [...items, item] }
    }
    if (depth === 1 && character === ',') {
      if (item !== undefined) items.push(item)
      item = undefined
    } else if (at > start) {
      item = { start: item?.start ?? at, end: next }
    }
    if (character === '[' || character === '{') depth += 1
  }
  return { end: limit, items }
}

/** Skips blanks and comments; a quoted string is one token. */
function* flowTokens(
  text: string,
  start: number,
  limit: number,
): Generator<{ at: number; next: number; character: string }> {
  let before = ''
  for (let at = start; at < limit;) {
    const character = text[at]!
    let next = at + 1
    if (character === '#' && isBlankAt(text, at - 1)) {
      next = lineEnd(text, at, limit)
    } else if (!isBlankAt(text, at)) {
      const isQuote = (character === '"' || character === "'") && '[{,:'.includes(before)
      if (isQuote) next = quoteEnd(text, at, limit)
      yield { at, next, character }
      before = character
    }
    at = next
  }
}

/** The start of the comment on a line, or else the end of its content. */
export function commentAt(text: string, start: number, end: number): number {
  for (let at = text.indexOf('#', start); at !== -1 && at < end; at = text.indexOf('#', at + 1)) {
    if (at === start || isBlankAt(text, at - 1)) return at
  }
  return trimBack(text, start, end)
}

export function skipBlanks(text: string, from: number, end: number): number {
  let at = from
  while (at < end && (text[at] === ' ' || text[at] === '\t')) at += 1
  return at
}

export function trimBack(text: string, start: number, end: number): number {
  let at = end
  while (at > start && isBlankAt(text, at - 1)) at -= 1
  return at
}

export function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1
}

/** True also after the end of the text. */
export function isBlankAt(text: string, at: number): boolean {
  const character = text[at]
  return character === undefined || ' \t\r\n'.includes(character)
}

export function isComment(text: string, at: number): boolean {
  return text[at] === '#'
}

export function isDash(text: string, at: number): boolean {
  return text[at] === '-' && isBlankAt(text, at + 1)
}
