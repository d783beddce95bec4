import { CRITERIA_BEGIN, CRITERIA_END, canonicalName, findHeadings } from './body.ts'
import {
  highestNumber,
  mergeCriteria,
  mergeFields,
  type Hunk,
  type Lines,
  type MergeState,
} from './conflict-rules.ts'
import { closingFence, markdownLines } from './lines.ts'
import { findPlace, readCriterionItem } from './criteria.ts'
import { findEntries } from './yaml-lines.ts'

const MARKER = /^(?:<{7}|\|{7}|>{7})(?=[ \r\n]|$)/
const SEPARATOR = /^={7}\r?\n?$/
const FRONTMATTER = /^\uFEFF?---[ \t]*\r?\n(?<yaml>(?:[^\n]*\n)*?)---[ \t]*(?:\r?\n|$)/

/** The text without its merge conflicts, or the line of the first one that a person has to decide. */
export function resolveConflicts(text: string): string | number {
  const lines = text.split(/(?<=\n)/)
  const state: MergeState = { leader: undefined, highest: highestNumber(lines) }
  let resolved = ''
  let firstConflict: number | undefined
  for (let at = 0; at < lines.length;) {
    const line = lines[at]!
    if (!MARKER.test(line) || isInCode(resolved, line)) {
      resolved += line
      at += 1
      continue
    }
    firstConflict ??= at + 1
    const hunk = readHunk(lines, at)
    const merged = hunk && mergeHunk(hunk, resolved, state)
    if (merged === undefined) return at + 1
    resolved += merged.join('')
    at = hunk!.end
  }
  return firstConflict !== undefined && hasDuplicates(resolved) ? firstConflict : resolved
}

function readHunk(lines: Lines, start: number): Hunk | undefined {
  // A longer marker ends a conflict inside the base, which then cannot be used.
  const last = lines.findIndex((line, at) => at >= start && line.startsWith('>>>>>>>'))
  const block = lines.slice(start, last + 1)
  const marks = block.flatMap((line, at) => (isMark(line) ? [at] : []))
  const order = marks.map((at) => block[at]![0]).join('')
  if (order !== '<=>' && order !== '<|=>') return undefined
  const parts = marks.slice(1).map((end, index) => block.slice(marks[index]! + 1, end))
  const base = parts.length === 3 ? parts[1] : undefined
  const next = lines[last + 1] ?? ''
  return { ours: parts[0]!, base, theirs: parts.at(-1)!, next, end: last + 1 }
}

function isMark(line: string): boolean {
  return MARKER.test(line) || SEPARATOR.test(line)
}

/** `before` is the resolved text before the hunk. */
function mergeHunk(hunk: Hunk, before: string, state: MergeState): Lines | undefined {
  const side = unambiguousSide(hunk)
  if (side !== undefined) return side
  // With diff3, git leaves the common start of both sides inside the hunk.
  const common = sharedStart(hunk.ours, hunk.theirs)
  const start = hunk.ours.slice(0, common)
  const rest = { ...hunk, ours: hunk.ours.slice(common), theirs: hunk.theirs.slice(common) }
  const merged = mergeByPosition(rest, before + start.join(''), state)
  return merged && [...start, ...merged]
}

function mergeByPosition(hunk: Hunk, before: string, state: MergeState): Lines | undefined {
  const body = FRONTMATTER.exec(before)?.[0].length
  if (body === undefined) return before === '' ? undefined : mergeFields(hunk, state)
  if (closingFence(before, body) !== '') return undefined
  const isInBlock = before.lastIndexOf(CRITERIA_BEGIN) > before.lastIndexOf(CRITERIA_END)
  const heading = findHeadings(before, body).headings.at(-1)
  const section = heading && canonicalName(heading.name)
  if (isInBlock || section === 'Acceptance Criteria') return mergeCriteria(hunk, state)
  return section === 'Implementation Notes' ? joinNotes(hunk) : undefined
}

/** The side to take as it is: both are equal, or the other one is unchanged. */
function unambiguousSide({ ours, theirs, base }: Hunk): Lines | undefined {
  const [mine, yours] = [trimmed(ours), trimmed(theirs)]
  if (mine === yours) return ours
  if (base === undefined) return undefined
  if (mine === trimmed(base)) return theirs
  return yours === trimmed(base) ? ours : undefined
}

function sharedStart(a: Lines, b: Lines): number {
  const differs = a.findIndex((line, at) => line !== b[at])
  return differs === -1 ? a.length : differs
}

/** Without trailing spaces and surrounding blank lines. */
function trimmed(lines: Lines): string {
  const text = lines.map((line) => `${line.trimEnd()}\n`).join('')
  return text.replace(/^\n+/, '').replace(/\n+$/, '\n')
}

/** Both notes with a blank line between them, or only the one that contains the other. */
function joinNotes({ ours, theirs }: Hunk): Lines | undefined {
  const [mine, yours] = [trimmed(ours), trimmed(theirs)]
  if (!isOnlyText(ours) || !isOnlyText(theirs)) return undefined
  if (`\n${mine}`.includes(`\n${yours}`)) return ours
  if (`\n${yours}`.includes(`\n${mine}`)) return theirs
  const end = ours.findLastIndex((line) => line.trim() !== '')
  const start = theirs.findIndex((line) => line.trim() !== '')
  const eol = ours[end]!.endsWith('\r\n') ? '\r\n' : '\n'
  return [...ours.slice(0, end + 1), eol, ...theirs.slice(start)]
}

/** Whether the lines contain no heading and no open code block. */
function isOnlyText(lines: Lines): boolean {
  const text = lines.join('')
  return findHeadings(text, 0).headings.length === 0 && closingFence(text, 0) === ''
}

/** Whether a line belongs to a code block, where a marker is text. */
function isInCode(before: string, line: string): boolean {
  const body = FRONTMATTER.exec(before)?.[0].length
  return body !== undefined && markdownLines(before + line, body).at(-1)!.isCode
}

/** Whether the sides have a key or a criterion in different places, so that it is now there twice. */
function hasDuplicates(text: string): boolean {
  const yaml = FRONTMATTER.exec(text)?.groups?.['yaml']
  if (yaml === undefined) return false
  const keys = findEntries(yaml, { start: 0, end: yaml.length }).map(({ key }) => key)
  const place = findPlace(text)
  const lines = place === undefined ? [] : text.slice(place.start, place.end).split('\n')
  const numbers = lines.flatMap((line) => readCriterionItem(line, 0, line.length)?.written ?? [])
  return [keys, numbers].some((names) => new Set<unknown>(names).size < names.length)
}
