import { findStatus } from '../status.ts'

/** Each line includes its line end. */
export type Lines = readonly string[]
type Side = 'ours' | 'theirs'

export interface Hunk {
  readonly ours: Lines
  /** The common ancestor, if git wrote it. */
  readonly base: Lines | undefined
  readonly theirs: Lines
  /** The line after the hunk. */
  readonly next: string
  /** The position of that line. */
  readonly end: number
}

/** What the hunks of a file share. */
export interface Memory {
  /** The side whose status was taken. */
  leader: Side | undefined
  /** The highest criterion number. */
  highest: number
}

/** Returns the resolved lines, or undefined if a person has to decide. */
export type Rule = (hunk: Hunk, memory: Memory) => Lines | undefined

interface Entry {
  readonly key: string
  readonly line: string
}

interface Field extends Entry {
  readonly value: string
}

interface Criterion extends Entry {
  readonly isDone: boolean
  readonly words: string
}

interface Versions<Item> {
  readonly ours: Item | undefined
  readonly theirs: Item | undefined
  readonly base: Item | undefined
}

type FieldRule = (ours: Field, theirs: Field, base: Field | undefined) => string | undefined

const FIELD = /^([A-Za-z_][\w-]*):(?:[ \t]+([^\n]*))?\r?\n?$/
/** A value that ends on its own line. */
const WITHIN_LINE = /^(?:[^\s|>[\]{}"'][^\n]*|\[[^[\]{}]*\]|"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')?$/
const CRITERION = /^[ \t]*[-*+][ \t]+\[([ xX])\][ \t]+#(\d{1,9})[ \t]+(\S[^\r\n]*?)[ \t]*\r?\n?$/

const ITEM = /"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,\s][^,]*/g

const PROGRESS: readonly unknown[] = ['To Do', 'In Progress', 'Done']

const FIELD_RULES: ReadonlyMap<string, FieldRule> = new Map([
  ['labels', mergeLists],
  ['dependencies', mergeLists],
  ['updatedAt', laterOne],
  ['status', furtherOne],
])

/** The field name or criterion number of a line, which must be unique. */
export function nameOf(zone: string, line: string): string | undefined {
  if (zone === 'frontmatter') return FIELD.exec(line)?.[1]
  return zone === 'criteria' ? readCriterion(line)?.key : undefined
}

export function highestNumber(lines: Lines): number {
  return lines.reduce((high, line) => Math.max(high, Number(readCriterion(line)?.key ?? 0)), 0)
}

/** Merges one-line entries of the frontmatter by key. */
export function mergeFields(hunk: Hunk, memory: Memory): Lines | undefined {
  const isContinued = /^(?:[ \t]|-[ \t\r\n]|[\]}])/.test(hunk.next)
  const entries = isContinued ? undefined : readEntries(hunk, readField)
  const status = entries?.find(({ ours, theirs }) => (ours ?? theirs)?.key === 'status')
  memory.leader ??= status && leaderOf(status)
  return mergeAll(entries, (versions) => mergeField(versions, memory.leader))
}

/** Merges criteria by number; if both sides added the same number, theirs gets a new one. */
export function mergeCriteria(hunk: Hunk, memory: Memory): Lines | undefined {
  return mergeAll(readEntries(hunk, readCriterion), (versions) => {
    const { ours, theirs, base } = versions
    if (ours === undefined || theirs === undefined) return loneLine(versions)
    const words = threeWay(ours.words, theirs.words, base?.words)
    if (words !== undefined) return [renderCriterion(ours, words, isTicked(ours, theirs, base))]
    if (base !== undefined) return undefined
    memory.highest += 1
    return [ours.line, theirs.line.replace(/#\d+/, `#${memory.highest}`)]
  })
}

/** The entries of both sides in order of appearance; undefined if a line is not an entry. */
function readEntries<Item extends Entry>(
  hunk: Hunk,
  read: (line: string) => Item | undefined,
): Versions<Item>[] | undefined {
  const ours = readSide(hunk.ours, read)
  const theirs = readSide(hunk.theirs, read)
  const base = readSide(hunk.base ?? [], read)
  if (ours === undefined || theirs === undefined) return undefined
  return [...new Set([...ours.keys(), ...theirs.keys()])].map((key) => ({
    ours: ours.get(key),
    theirs: theirs.get(key),
    base: base?.get(key),
  }))
}

function readSide<Item extends Entry>(
  lines: Lines,
  read: (line: string) => Item | undefined,
): Map<string, Item> | undefined {
  const items = lines.flatMap((line) => read(line) ?? [])
  const byKey = new Map(items.map((item) => [item.key, item]))
  return byKey.size === lines.length ? byKey : undefined
}

function mergeAll<Item extends Entry>(
  entries: readonly Versions<Item>[] | undefined,
  merge: (versions: Versions<Item>) => Lines | undefined,
): Lines | undefined {
  const merged: string[] = []
  for (const versions of entries ?? []) {
    const lines = merge(versions)
    if (lines === undefined) return undefined
    merged.push(...lines)
  }
  return entries && merged
}

/** Keeps an entry that only one side has, unless the base shows that the other side removed it. */
function loneLine({ ours, theirs, base }: Versions<Entry>): Lines {
  const { line } = (ours ?? theirs)!
  return base?.line.trim() === line.trim() ? [] : [line]
}

function linesOf(entry: Entry | undefined): Lines {
  return entry === undefined ? [] : [entry.line]
}

function threeWay<Value>(ours: Value, theirs: Value, base: Value | undefined): Value | undefined {
  if (ours === theirs || theirs === base) return ours
  return ours === base ? theirs : undefined
}

function readField(line: string): Field | undefined {
  const [, key, rest = ''] = FIELD.exec(line) ?? []
  const value = rest.trim()
  return key === undefined || !WITHIN_LINE.test(value) ? undefined : { key, value, line }
}

function mergeField(versions: Versions<Field>, leader: Side | undefined): Lines | undefined {
  const { ours, theirs, base } = versions
  const isAssignee = (ours ?? theirs)?.key === 'assignee'
  if (isAssignee && leader !== undefined) return linesOf(versions[leader])
  if (ours === undefined || theirs === undefined) return loneLine(versions)
  const value = threeWay(ours.value, theirs.value, base?.value)
  if (value !== undefined) return [value === ours.value ? ours.line : theirs.line]
  const line = FIELD_RULES.get(ours.key)?.(ours, theirs, base)
  return line === undefined ? undefined : [line]
}

/** The side whose status wins; undefined if they are equal or cannot be compared. */
function leaderOf({ ours, theirs, base }: Versions<Field>): Side | undefined {
  if (ours === undefined || theirs === undefined || ours.value === theirs.value) return undefined
  const value = threeWay(ours.value, theirs.value, base?.value)
  if (value !== undefined) return value === ours.value ? 'ours' : 'theirs'
  const [mine, yours] = [progressOf(ours), progressOf(theirs)]
  if (mine === yours || mine === -1 || yours === -1) return undefined
  return mine > yours ? 'ours' : 'theirs'
}

function furtherOne(ours: Field, theirs: Field): string | undefined {
  const status = findStatus(unquoted(ours.value))
  if (status !== undefined && status === findStatus(unquoted(theirs.value))) return ours.line
  const leader = leaderOf({ ours, theirs, base: undefined })
  return leader && { ours, theirs }[leader].line
}

function progressOf(field: Field): number {
  return PROGRESS.indexOf(findStatus(unquoted(field.value)))
}

function laterOne(ours: Field, theirs: Field): string | undefined {
  const [mine, yours] = [ours, theirs].map(({ value }) => Date.parse(unquoted(value)))
  if (Number.isNaN(mine! - yours!)) return undefined
  return yours! > mine! ? theirs.line : ours.line
}

/** Our items, then theirs; an item of the base that one side removed stays removed. */
function mergeLists(ours: Field, theirs: Field, base: Field | undefined): string | undefined {
  const [mine, yours, old] = [ours, theirs, base].map(readList)
  if (mine === undefined || yours === undefined) return undefined
  const isKept = (item: string) => (mine.has(item) && yours.has(item)) || !old?.has(item)
  const items = [...new Map([...mine, ...yours])].filter(([item]) => isKept(item))
  const eol = ours.line.endsWith('\r\n') ? '\r\n' : '\n'
  return `${ours.key}: [${items.map(([, written]) => written).join(', ')}]${eol}`
}

/** The items of a flow list, by value, as they are written. */
function readList(field: Field | undefined): Map<string, string> | undefined {
  if (!field?.value.startsWith('[')) return undefined
  const items = field.value.slice(1, -1).match(ITEM) ?? []
  return new Map(items.map((item) => [unquoted(item.trim()), item.trim()]))
}

function unquoted(value: string): string {
  return value.replace(/^(["'])(.*)\1$/, '$2')
}

function readCriterion(line: string): Criterion | undefined {
  const [, mark, number, words] = CRITERION.exec(line) ?? []
  if (words === undefined) return undefined
  return { key: String(Number(number)), isDone: mark !== ' ', words, line }
}

/** A tick wins, unless the base shows that the other side removed it. */
function isTicked(ours: Criterion, theirs: Criterion, base: Criterion | undefined): boolean {
  return threeWay(ours.isDone, theirs.isDone, base?.isDone) ?? true
}

function renderCriterion(ours: Criterion, words: string, isDone: boolean): string {
  const end = ours.line.lastIndexOf(ours.words)
  const line = `${ours.line.slice(0, end)}${words}${ours.line.slice(end + ours.words.length)}`
  return isDone === ours.isDone ? line : line.replace(/\[.\]/, isDone ? '[x]' : '[ ]')
}
