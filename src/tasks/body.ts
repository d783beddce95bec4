import { Fences } from '../base/fences.ts'
import { splitFile } from './frontmatter.ts'

/** The sections that forge-tasks writes, in the order in which a new file has them. */
const SECTIONS = [
  'Description',
  'Acceptance Criteria',
  'Implementation Plan',
  'Implementation Notes',
] as const
export type SectionName = (typeof SECTIONS)[number]

export interface Section {
  readonly name: string
  /** Where its heading begins. */
  readonly start: number
  /** Where its content begins and ends; the blank lines around it belong to nobody. */
  readonly content: { readonly start: number; readonly end: number }
  /** Where the next section, or the end of the file, is. */
  readonly end: number
}

/** Other tools and older files call them differently. */
const ALIASES: Readonly<Record<string, SectionName>> = {
  Notes: 'Implementation Notes',
  Plan: 'Implementation Plan',
}

/** The `## ` sections of the body; headings inside of code blocks are text. */
export function findSections(text: string): Section[] {
  const from = splitFile(text).body
  const headings = [...findHeadings(text, from)]
  return headings.map(({ name, start, behind }, index) => {
    const end = headings[index + 1]?.start ?? text.length
    const content = text.slice(behind, end)
    const contentStart = behind + (content.length - content.trimStart().length)
    const contentEnd = Math.max(contentStart, behind + content.trimEnd().length)
    const isBlank = content.trim() === ''
    const place = isBlank
      ? { start: behind, end: behind }
      : { start: contentStart, end: contentEnd }
    return { name, start, content: place, end }
  })
}

function* findHeadings(
  text: string,
  from: number,
): Generator<{ name: string; start: number; behind: number }> {
  const fences = new Fences(() => undefined)
  for (let start = from; start < text.length;) {
    const newline = text.indexOf('\n', start)
    const behind = newline === -1 ? text.length : newline + 1
    const line = text.slice(start, behind)
    const bytes = Buffer.from(line.trimEnd())
    const isFence = fences.take(bytes, 0, bytes.length)
    const name = /^##[ \t]+(.*?)[ \t]*#*\s*$/.exec(line)?.[1]
    if (!isFence && !fences.isOpen && name !== undefined) yield { name, start, behind }
    start = behind
  }
}

function findSection(text: string, name: SectionName): Section | undefined {
  const sections = findSections(text)
  return (
    sections.find((section) => section.name === name) ??
    sections.find((section) => ALIASES[section.name] === name)
  )
}

export function readSection(text: string, name: SectionName): string {
  const section = findSection(text, name)
  return section === undefined ? '' : text.slice(section.content.start, section.content.end)
}

/** The text with the content of one section replaced; a missing section is put in its place. */
export function setSection(text: string, name: SectionName, content: string): string {
  const { eol } = splitFile(text)
  const section = findSection(text, name)
  const inner = content.trim().replaceAll(/\r?\n/g, eol)
  if (section === undefined) return insertSection(text, name, inner, eol)
  if (section.content.start === section.content.end) {
    // An empty section: its heading may be the last line of the file, with or without an end.
    const { start } = section.content
    const before = text.slice(0, start)
    const heading = before.endsWith('\n') ? before : before + eol
    const rest = text.slice(start).replace(/^\s*/, '')
    return `${heading}${eol}${inner}${eol}${rest === '' ? '' : eol + rest}`
  }
  return text.slice(0, section.content.start) + inner + text.slice(section.content.end)
}

export function appendToSection(text: string, name: SectionName, addition: string): string {
  const before = readSection(text, name)
  return setSection(text, name, before === '' ? addition : `${before}\n\n${addition.trim()}`)
}

function insertSection(text: string, name: SectionName, inner: string, eol: string): string {
  const later = SECTIONS.slice(SECTIONS.indexOf(name) + 1)
  const next = findSections(text).find((section) => later.includes(canonical(section.name)))
  const at = next?.start ?? text.length
  const before = text.slice(0, at).trimEnd()
  const block = `## ${name}${eol}${eol}${inner === '' ? '' : inner + eol}`
  const rest = text.slice(at)
  return `${before}${eol}${eol}${block}${rest === '' ? '' : eol + rest}`
}

function canonical(name: string): SectionName {
  return ALIASES[name] ?? (name as SectionName)
}
