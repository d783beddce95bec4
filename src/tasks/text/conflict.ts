import { Fences } from '../../base/code-fences.ts'
import {
  highestNumber,
  mergeCriteria,
  mergeFields,
  nameOf,
  type Hunk,
  type Lines,
  type Memory,
  type Rule,
} from './conflict-rules.ts'

type Zone = 'start' | 'frontmatter' | 'criteria' | 'notes' | 'elsewhere'

/** How to merge a hunk that both sides have changed, by its position in the file. */
const RULES: Readonly<Partial<Record<Zone, Rule>>> = {
  frontmatter: mergeFields,
  criteria: mergeCriteria,
  notes: joinNotes,
}

const SECTIONS: ReadonlyMap<string, Zone> = new Map([
  ['Acceptance Criteria', 'criteria'],
  ['Implementation Notes', 'notes'],
  ['Notes', 'notes'],
])

const MARKER = /^(?:<{7}|\|{7}|>{7})(?=[ \r\n]|$)/
const SEPARATOR = /^={7}\r?\n?$/

/** Resolves all merge conflicts; undefined if a person has to decide one of them. */
export function resolveConflicts(text: string): string | undefined {
  const resolved = resolve(text)
  return typeof resolved === 'string' ? resolved : undefined
}

/** The line of the first conflict that a person has to decide. */
export function findUndecided(text: string): number | undefined {
  const resolved = resolve(text)
  return typeof resolved === 'number' ? resolved : undefined
}

/** The resolved text, or the line of the conflict that prevents it; undefined if no single line does. */
function resolve(text: string): string | number | undefined {
  const lines = text.split(/(?<=\n)/)
  const memory: Memory = { leader: undefined, highest: highestNumber(lines) }
  const place = new Place()
  const resolved: string[] = []
  let codeUntil = 0
  for (let at = 0; at < lines.length;) {
    const line = lines[at]!
    const hunk = MARKER.test(line) ? readHunk(lines, at) : undefined
    const isText = place.isInCode || !MARKER.test(line)
    if (isText) codeUntil = Math.max(codeUntil, hunk?.end ?? 0)
    const answer = isText ? place.take([line], false) : hunk && resolveHunk(hunk, place, memory)
    // A conflict that begins in a code block but ends after it is a real conflict.
    if (answer === undefined || (at + 1 < codeUntil && !place.isInCode)) return at + 1
    resolved.push(...answer)
    at = isText || hunk === undefined ? at + 1 : hunk.end
  }
  return place.hasDuplicates ? undefined : resolved.join('')
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

function resolveHunk(hunk: Hunk, place: Place, memory: Memory): Lines | undefined {
  const side = oneSide(hunk)
  if (side !== undefined) return place.take(side, true)
  // With diff3, git leaves the common start of both sides inside the hunk.
  const common = sharedStart(hunk.ours, hunk.theirs)
  const start = place.take(hunk.ours.slice(0, common), true)
  const [ours, theirs] = [hunk.ours.slice(common), hunk.theirs.slice(common)]
  const rest = RULES[place.zone]?.({ ...hunk, ours, theirs }, memory)
  return rest === undefined ? undefined : [...start, ...place.take(rest, true)]
}

/** The side to take as it is: both are equal, or the other one is unchanged. */
function oneSide({ ours, theirs, base }: Hunk): Lines | undefined {
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
  if (!isWhole(ours) || !isWhole(theirs)) return undefined
  if (`\n${mine}`.includes(`\n${yours}`)) return ours
  if (`\n${yours}`.includes(`\n${mine}`)) return theirs
  const end = ours.findLastIndex((line) => line.trim() !== '')
  const start = theirs.findIndex((line) => line.trim() !== '')
  const eol = ours[end]!.endsWith('\r\n') ? '\r\n' : '\n'
  return [...ours.slice(0, end + 1), eol, ...theirs.slice(start)]
}

/** Whether the lines contain no heading and no open code block. */
function isWhole(lines: Lines): boolean {
  const fences = new Fences()
  return lines.every((line) => headingIn(line, fences) === undefined) && !fences.isOpen
}

function headingIn(line: string, fences: Fences): string | undefined {
  if (fences.take(line.trimEnd()) || fences.isOpen) return undefined
  return /^##[ \t]+(.*?)[ \t]*#*\s*$/.exec(line)?.[1]
}

/** The current position while reading a task file line by line. */
class Place {
  readonly #fences = new Fences()
  /** Keys and criteria so far, and whether each came from a hunk. */
  readonly #names = new Map<string, boolean>()
  #zone: Zone = 'start'
  #isInBlock = false
  #hasDuplicates = false

  get zone(): Zone {
    if (this.#fences.isOpen) return 'elsewhere'
    return this.#isInBlock ? 'criteria' : this.#zone
  }

  /** Whether a marker would be text. In a list, a marker in column 1 ends the code block. */
  get isInCode(): boolean {
    return this.#fences.isOpen && !this.#fences.isInList
  }

  /** Whether a hunk added a key or criterion number that the file already has. */
  get hasDuplicates(): boolean {
    return this.#hasDuplicates
  }

  take(lines: Lines, isFromHunk: boolean): Lines {
    for (const line of lines) {
      this.#move(line)
      this.#note(line, isFromHunk)
    }
    return lines
  }

  #move(line: string): void {
    const isRule = /^\uFEFF?---[ \t]*\r?\n?$/.test(line)
    if (this.#zone === 'start') this.#zone = isRule ? 'frontmatter' : 'elsewhere'
    else if (this.#zone === 'frontmatter') this.#zone = isRule ? 'elsewhere' : 'frontmatter'
    else this.#moveInBody(line)
  }

  #moveInBody(line: string): void {
    const heading = headingIn(line, this.#fences)
    if (heading !== undefined) this.#zone = SECTIONS.get(heading) ?? 'elsewhere'
    if (line.includes('<!-- AC:BEGIN -->')) this.#isInBlock = true
    if (line.includes('<!-- AC:END -->')) this.#isInBlock = false
  }

  #note(line: string, isFromHunk: boolean): void {
    const name = nameOf(this.zone, line)
    if (name === undefined) return
    const wasFromHunk = this.#names.get(name)
    if (wasFromHunk !== undefined && (isFromHunk || wasFromHunk)) this.#hasDuplicates = true
    this.#names.set(name, isFromHunk || wasFromHunk === true)
  }
}
