import { appendBlock, CRITERIA_BEGIN, CRITERIA_END, findSection } from './body.ts'
import { splitFile } from './fields.ts'
import { lineEnd, markdownLines } from './lines.ts'
import type { Span } from './yaml-tokens.ts'
import { Refused } from '../refused.ts'

export interface Criterion {
  readonly number: number
  readonly isDone: boolean
  /** Includes the indented lines below the first. */
  readonly text: string
}

export interface CriterionItem extends Omit<Criterion, 'text'> {
  /** The text of the first line. */
  readonly words: string
  /** Where the lines below the first begin. */
  readonly below: number
  readonly start: number
  readonly end: number
  /** The position between the brackets. */
  readonly mark: number
}

/** Uses the numbers that the criteria have before the edit. */
export interface CriteriaChanges {
  readonly check?: readonly number[]
  readonly uncheck?: readonly number[]
  readonly remove?: readonly number[]
}

const ITEM = /^([ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[)([ xX])\](?=\s|$)/
const NUMBER = /^#(\d{1,9})(?:\s+|$)/

export function readCriteria(text: string): Criterion[] {
  return findCriterionItems(text).map((item) => criterionOf(text, item))
}

export function criterionOf(
  text: string,
  { number, isDone, words, below, end }: CriterionItem,
): Criterion {
  const more = text.slice(below, end).trimEnd()
  return { number, isDone, text: more === '' ? words : `${words}\n${unindent(more)}` }
}

/** Removes the indentation that all lines share. */
function unindent(text: string): string {
  const lines = text.split(/\r?\n/)
  const indentOf = (line: string) => line.length - line.trimStart().length
  const indent = lines.reduce((least, line) => Math.min(least, indentOf(line)), Infinity)
  return lines.map((line) => line.slice(indent)).join('\n')
}

/** Checks all numbers before it changes anything. */
export function changeCriteria(text: string, changes: CriteriaChanges): string {
  const { check = [], uncheck = [], remove = [] } = changes
  if (check.length + uncheck.length + remove.length === 0) return text
  const items = findCriterionItems(text)
  const pick = (numbers: readonly number[]) =>
    new Set(numbers.map((number) => findByNumber(items, number)))
  const [checked, unchecked, removed] = [pick(check), pick(uncheck), pick(remove)]
  let next = text
  // From last to first, so that the positions of the others stay valid.
  for (const item of items.toReversed()) {
    if (removed.has(item)) next = next.slice(0, item.start) + next.slice(item.end)
    else if (unchecked.has(item)) next = mark(next, item, false)
    else if (checked.has(item)) next = mark(next, item, true)
  }
  return next
}

function mark(text: string, item: CriterionItem, isDone: boolean): string {
  if (item.isDone === isDone) return text
  return `${text.slice(0, item.mark)}${isDone ? 'x' : ' '}${text.slice(item.mark + 1)}`
}

function findByNumber(items: readonly CriterionItem[], number: number): CriterionItem {
  const found = items.find((item) => item.number === number)
  if (found !== undefined) return found
  const known = items.map((item) => `#${item.number}`).join(', ')
  throw new Refused(
    `No acceptance criterion #${number}.`,
    known === '' ? 'The task has no criteria.' : `The task has ${known}.`,
  )
}

/** Uses the number after the highest one; gaps are not filled. */
export function addCriterion(text: string, words: string): string {
  const { eol } = splitFile(text)
  const items = findCriterionItems(text)
  const number = items.reduce((most, item) => Math.max(most, item.number), 0) + 1
  const line = renderCriterion(number, words)
  const last = items.at(-1)
  if (last !== undefined) return insertLine(text, last.end, line, eol)
  const block = findPlace(text)?.block
  if (block !== undefined) return insertLine(text, block.end, line, eol)
  return appendBlock(
    text,
    'Acceptance Criteria',
    [CRITERIA_BEGIN, line, CRITERIA_END].join(eol),
    eol,
  )
}

export function renderCriterion(number: number, words: string): string {
  return `- [ ] #${number} ${joinLines(words)}`
}

function joinLines(words: string): string {
  const lines = words.split(/[\r\n]+/).map((line) => line.trim())
  return lines.filter((line) => line !== '').join(' ')
}

/** Adds a line end before the new line if it is missing. */
function insertLine(text: string, at: number, line: string, eol: string): string {
  const [before, rest] = [text.slice(0, at), text.slice(at)]
  return `${before}${before.endsWith('\n') ? '' : eol}${line}${eol}${rest}`
}

/** The items between the two marker comments, or else in the section. */
export function findCriterionItems(text: string, place = findPlace(text)): CriterionItem[] {
  if (place === undefined) return []
  const items: Unnumbered[] = []
  let last: { indent: number; index: number } | undefined
  for (const { start, end, isCode } of markdownLines(text, place.start, place.end)) {
    const line = text.slice(start, end)
    const indent = line.length - line.trimStart().length
    const item = isCode ? undefined : readCriterionItem(line, start, end)
    if (item !== undefined) {
      last = { indent, index: items.push(item) - 1 }
    } else if (last !== undefined && line.trim() !== '' && indent > last.indent) {
      items[last.index] = { ...items[last.index]!, end }
    } else {
      last = undefined
    }
  }
  return assignNumbers(items)
}

interface Unnumbered extends Omit<CriterionItem, 'number'> {
  readonly written: number | undefined
}

/** The criterion that begins on a line, with the number that is written there. */
export function readCriterionItem(
  line: string,
  start: number,
  end: number,
): Unnumbered | undefined {
  const match = ITEM.exec(line)
  if (match === null) return undefined
  const rest = line.slice(match[0].length).trim()
  const written = NUMBER.exec(rest)
  return {
    written: written === null ? undefined : Number(written[1]),
    isDone: match[2] !== ' ',
    words: written === null ? rest : rest.slice(written[0].length),
    start,
    below: end,
    end,
    mark: start + match[1]!.length,
  }
}

/** Items without a number, or with a duplicate one, get the next free number. */
function assignNumbers(items: readonly Unnumbered[]): CriterionItem[] {
  const owners = new Map<number, Unnumbered>()
  for (const item of items) {
    if (item.written !== undefined && !owners.has(item.written)) owners.set(item.written, item)
  }
  const taken = new Set(owners.keys())
  let before = 0
  return items.map((item) => {
    const { written, ...rest } = item
    const isOwner = written !== undefined && owners.get(written) === item
    let own = isOwner ? written : before + 1
    while (!isOwner && taken.has(own)) own += 1
    taken.add(own)
    before = own
    return { number: own, ...rest }
  })
}

/** Where the criteria are: in their section, or between marker comments elsewhere. */
export function findPlace(
  text: string,
  section = findSection(text, 'Acceptance Criteria'),
): (Span & { readonly block?: Span }) | undefined {
  const place = section ?? { start: splitFile(text).body, end: text.length }
  const block = findBlock(text, place, section !== undefined)
  if (block !== undefined) return { ...block, block }
  return section === undefined ? undefined : { start: section.content.start, end: section.end }
}

function findBlock(
  text: string,
  { start: from, end: to }: Span,
  isAtHome: boolean,
): Span | undefined {
  let begin: number | undefined
  let fallback: number | undefined
  for (const { start, end, isCode } of markdownLines(text, from, to)) {
    if (isCode) continue
    const line = text.slice(start, end)
    if (begin === undefined) {
      const at = line.indexOf(CRITERIA_BEGIN)
      if (at === -1 || (isAtHome ? line.slice(0, at).trim() !== '' : at > 0)) continue
      begin = start + at + CRITERIA_BEGIN.length
      const sameLine = line.indexOf(CRITERIA_END, at)
      if (sameLine !== -1) return { start: begin, end: start + sameLine }
    } else if (line.trimStart().startsWith(CRITERIA_END)) {
      return { start: lineEnd(text, begin), end: start }
    } else if (line.includes(CRITERIA_END)) {
      fallback ??= start + line.indexOf(CRITERIA_END)
    }
  }
  if (begin === undefined || fallback === undefined) return undefined
  return { start: lineEnd(text, begin), end: fallback }
}
