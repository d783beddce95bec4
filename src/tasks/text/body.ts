import { splitFile } from './fields.ts'
import { closingFence, markdownLines } from './lines.ts'
import type { Span } from './yaml-tokens.ts'

/** The sections of a new file, in order. */
export const SECTIONS = [
  'Description',
  'Acceptance Criteria',
  'Implementation Plan',
  'Implementation Notes',
] as const
export type SectionName = (typeof SECTIONS)[number]

/** Precedes the criteria; older files have no heading for them. */
export const CRITERIA_BEGIN = '<!-- AC:BEGIN -->'
export const CRITERIA_END = '<!-- AC:END -->'

export interface Section {
  readonly name: string
  /** Where its heading begins. */
  readonly start: number
  /** Without the blank lines around it. */
  readonly content: Span
  /** The start of the next section or the end of the file. */
  readonly end: number
}

/** Names in files of other tools and older versions. */
const ALIASES: Readonly<Record<string, SectionName>> = {
  Notes: 'Implementation Notes',
  Plan: 'Implementation Plan',
}

interface Heading {
  readonly name: string
  readonly start: number
  /** The start of the line after the heading. */
  readonly next: number
}

/** The body in parts; each line belongs to one of them. */
export interface Outline {
  /** The text before the first section. */
  readonly intro: Span
  readonly sections: readonly Section[]
  /** Criteria without a heading, up to the next heading. */
  readonly loose: Span | undefined
}

/** The `## ` sections of the body, ignoring headings in code blocks. */
export function findSections(text: string): readonly Section[] {
  return readOutline(text).sections
}

export function readOutline(text: string): Outline {
  const { body } = splitFile(text)
  const { headings, criteria } = findHeadings(text, body)
  const hasHome = headings.some(({ name }) => name === 'Acceptance Criteria')
  const loose = hasHome ? undefined : criteria
  // Criteria without a heading do not belong to the section before them.
  const upTo = (from: number, end: number) =>
    contentOf(text, from, loose !== undefined && loose >= from && loose < end ? loose : end)
  const afterLoose = headings.find(({ start }) => start > (loose ?? start))
  const startOf = (index: number) => headings[index]?.start ?? text.length
  return {
    intro: upTo(body, startOf(0)),
    sections: headings.map(({ name, start, next }, index) => {
      const end = startOf(index + 1)
      return { name, start, content: upTo(next, end), end }
    }),
    loose:
      loose === undefined ? undefined : { start: loose, end: afterLoose?.start ?? text.length },
  }
}

export function findHeadings(
  text: string,
  from: number,
): { headings: Heading[]; criteria: number | undefined } {
  const headings: Heading[] = []
  const lastEnd = text.lastIndexOf(CRITERIA_END)
  let criteria: number | undefined
  for (const { start, end, isCode } of markdownLines(text, from)) {
    if (isCode) continue
    if (start < lastEnd && text.startsWith(CRITERIA_BEGIN, start)) criteria ??= start
    if (isHeading(text, start)) {
      headings.push({ name: headingName(text.slice(start + 2, end)), start, next: end })
    }
  }
  return { headings, criteria }
}

function isHeading(text: string, at: number): boolean {
  return text.startsWith('##', at) && (text[at + 2] === ' ' || text[at + 2] === '\t')
}

/** A closing `##` needs a space before it; the `#` of `C#` belongs to the name. */
function headingName(rest: string): string {
  const name = rest.trim()
  let end = name.length
  while (name[end - 1] === '#') end -= 1
  const isClosing = end === 0 || name[end - 1] === ' ' || name[end - 1] === '\t'
  return isClosing ? name.slice(0, end).trimEnd() : name
}

/** Whole lines, including leading and trailing spaces. */
function contentOf(text: string, from: number, to: number): Span {
  const all = text.slice(from, to)
  const words = all.trimStart()
  if (words === '') return { start: from, end: from }
  const first = to - words.length
  const start = Math.max(from, text.lastIndexOf('\n', first - 1) + 1)
  const last = from + all.trimEnd().length
  const newline = text.indexOf('\n', last)
  const end = newline === -1 || newline > to ? to : newline
  return { start, end: text[end - 1] === '\r' && newline === end ? end - 1 : end }
}

/** Also finds a section by its alternative names. */
export function findSection(
  text: string,
  name: SectionName,
  sections: readonly Section[] = findSections(text),
): Section | undefined {
  return (
    sections.find((section) => section.name === name) ??
    sections.find((section) => ALIASES[section.name] === name)
  )
}

export function readSection(
  text: string,
  name: SectionName,
  sections?: readonly Section[],
): string {
  const section = findSection(text, name, sections)
  if (section === undefined) return ''
  return text.slice(section.content.start, section.content.end).trimEnd()
}

/** Replaces the content of a section, or inserts the section where it belongs. */
export function setSection(text: string, name: SectionName, content: string): string {
  const { eol } = splitFile(text)
  const inner = escapeContent(content, eol)
  const section = findSection(text, name)
  const before = section === undefined ? '' : readSection(text, name)
  if (before.replaceAll(/\r?\n/g, eol) === inner) return text
  if (section === undefined) return insertSection(text, name, inner, eol)
  return before === '' ? fill(text, section, inner, eol) : replace(text, section, inner)
}

function replace(text: string, { content, start }: Section, inner: string): string {
  if (inner !== '') return text.slice(0, content.start) + inner + text.slice(content.end)
  const heading = text.indexOf('\n', start) + 1
  const rest = text.slice(content.end)
  return text.slice(0, heading) + rest.replace(/^\r?\n/, '')
}

/** Fills an empty section, whose heading may be the last line of the file. */
function fill(text: string, { content }: Section, inner: string, eol: string): string {
  const before = text.slice(0, content.start)
  const rest = text.slice(content.start)
  const isApart = rest === '' || /^[ \t]*\r?\n/.test(rest)
  return `${before}${endOfLine(before, eol)}${eol}${inner}${eol}${isApart ? '' : eol}${rest}`
}

function endOfLine(text: string, eol: string): string {
  return text.endsWith('\n') ? '' : eol
}

export function appendToSection(
  text: string,
  name: SectionName,
  additions: readonly string[],
): string {
  const { eol } = splitFile(text)
  const blocks = additions.map((words) => escapeContent(words, eol)).filter((words) => words !== '')
  return appendBlock(text, name, blocks.join(eol.repeat(2)), eol)
}

/** Appends text that needs no escaping. */
export function appendBlock(text: string, name: SectionName, inner: string, eol: string): string {
  const section = findSection(text, name)
  if (inner === '') return text
  if (section === undefined) return insertSection(text, name, inner, eol)
  const { start, end } = section.content
  if (start === end) return fill(text, section, inner, eol)
  const closing = closingFence(text, start, end)
  const close = closing === '' ? '' : eol + closing
  return `${text.slice(0, end)}${close}${eol}${eol}${inner}${text.slice(end)}`
}

function insertSection(text: string, name: SectionName, inner: string, eol: string): string {
  const later = SECTIONS.slice(SECTIONS.indexOf(name) + 1)
  const next = findSections(text).find((section) => later.includes(canonicalName(section.name)))
  const at = next?.start ?? text.length
  const before = closeBlock(text, at, eol)
  const gap = /(?:^|\n)[ \t]*\r?\n$/.test(before.slice(-LONGEST_GAP)) ? '' : eol
  const rest = text.slice(at)
  return `${before}${gap}## ${name}${eol}${eol}${inner}${eol}${rest === '' ? '' : eol + rest}`
}

const LONGEST_GAP = 200

/** The text before a position, with its last line and any open code block closed. */
function closeBlock(text: string, at: number, eol: string): string {
  const before = text.slice(0, at)
  const closing = closingFence(before, splitFile(text).body)
  const ended = before + endOfLine(before, eol)
  return closing === '' ? ended : ended + closing + eol
}

/** The name of a known section for any of its names. */
export function canonicalName(name: string): SectionName {
  return ALIASES[name] ?? (name as SectionName)
}

export function isKnown(name: string): boolean {
  return SECTIONS.includes(canonicalName(name))
}

/** Escapes text that would read as a heading, criteria or a conflict, and closes an open code block. */
export function escapeContent(content: string, eol: string): string {
  const text = content.replace(/^\s*\n/, '').trimEnd()
  let safe = ''
  for (const { start, end, isCode } of markdownLines(text, 0)) {
    const line = text.slice(start, end)
    if (!isCode && isHeading(text, start)) safe += `#${line}`
    else if (!isCode && /^(?:<<<<<<<(?:\s|$)|<!-- AC:BEGIN -->)/.test(line)) safe += `\\${line}`
    else safe += line
  }
  const closing = closingFence(text, 0)
  return (closing === '' ? safe : `${safe}\n${closing}`).replaceAll(/\r?\n/g, eol)
}
