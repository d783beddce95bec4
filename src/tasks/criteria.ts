import { UserError } from '../base/errors.ts'
import { readSection, setSection } from './body.ts'
import { splitFile } from './frontmatter.ts'

export interface Criterion {
  readonly number: number
  readonly isDone: boolean
  readonly text: string
}

interface Item extends Criterion {
  /** Where its line begins and ends in the text. */
  readonly start: number
  readonly end: number
  /** Where the mark between the brackets is. */
  readonly mark: number
}

const BEGIN = '<!-- AC:BEGIN -->'
const END = '<!-- AC:END -->'
const ITEM = /^([ \t]*[-*+][ \t]+\[)([ xX])\][ \t]+(?:#(\d+)[ \t]+)?(.*?)[ \t]*\r?$/

export function readCriteria(text: string): Criterion[] {
  return findItems(text).map(({ number, isDone, text: words }) => ({ number, isDone, text: words }))
}

/** The text with one criterion ticked or not; one character changes. */
export function markCriterion(text: string, number: number, isDone: boolean): string {
  const { mark } = findItem(text, number)
  return `${text.slice(0, mark)}${isDone ? 'x' : ' '}${text.slice(mark + 1)}`
}

export function removeCriterion(text: string, number: number): string {
  const { start, end } = findItem(text, number)
  return text.slice(0, start) + text.slice(end)
}

/** Numbers are never given again in a file: the new one follows the highest. */
export function addCriterion(text: string, words: string): string {
  const { eol } = splitFile(text)
  const number = Math.max(0, ...findItems(text).map((item) => item.number)) + 1
  const line = `- [ ] #${number} ${words.trim().replaceAll(/\s*\r?\n\s*/g, ' ')}`
  const place = findBlock(text)
  if (place === undefined) {
    const before = readSection(text, 'Acceptance Criteria')
    const block = [BEGIN, line, END].join('\n')
    return setSection(text, 'Acceptance Criteria', before === '' ? block : `${before}\n\n${block}`)
  }
  return `${text.slice(0, place.end)}${line}${eol}${text.slice(place.end)}`
}

function findItem(text: string, number: number): Item {
  const items = findItems(text)
  const found = items.find((item) => item.number === number)
  if (found !== undefined) return found
  const known = items.map((item) => `#${item.number}`).join(', ')
  throw new UserError(
    `There is no acceptance criterion #${number}.`,
    known === '' ? 'The task has none.' : `There are ${known}.`,
  )
}

/** The lines between the two comments; without them, those of the section. */
function findItems(text: string): Item[] {
  const place = findBlock(text) ?? findUnmarked(text)
  const items: Item[] = []
  for (let start = place?.start ?? 0; place !== undefined && start < place.end;) {
    const newline = text.indexOf('\n', start)
    const end = newline === -1 || newline + 1 > place.end ? place.end : newline + 1
    const match = ITEM.exec(text.slice(start, end).replace(/\n$/, ''))
    if (match !== null) {
      const [, before = '', sign = '', written, words = ''] = match
      const number = written === undefined ? (items.at(-1)?.number ?? 0) + 1 : Number(written)
      const mark = start + before.length
      items.push({ number, isDone: sign !== ' ', text: words, start, end, mark })
    }
    start = end
  }
  return items
}

function findBlock(text: string): { start: number; end: number } | undefined {
  const from = splitFile(text).body
  const begin = text.indexOf(BEGIN, from)
  const end = begin === -1 ? -1 : text.indexOf(END, begin)
  if (end === -1) return undefined
  return { start: text.indexOf('\n', begin) + 1, end: text.lastIndexOf('\n', end) + 1 }
}

function findUnmarked(text: string): { start: number; end: number } | undefined {
  const section = readSection(text, 'Acceptance Criteria')
  if (section === '') return undefined
  const start = text.indexOf(section, splitFile(text).body)
  return { start, end: start + section.length }
}
