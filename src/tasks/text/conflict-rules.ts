import { isObject } from '../../base/json.ts'
import { findStatus } from '../status.ts'
import { readCriterionItem } from './criteria.ts'
import { renderValue } from './render-yaml.ts'

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
export interface MergeState {
  /** The side whose status was taken. */
  leader: Side | undefined
  highest: number
}

interface Entry {
  readonly key: string
  readonly line: string
}

interface Field extends Entry {
  readonly value: unknown
}

interface Criterion extends Entry {
  readonly isDone: boolean
  readonly words: string
  /** The position between the brackets. */
  readonly mark: number
}

interface Versions<Item> {
  readonly ours: Item | undefined
  readonly theirs: Item | undefined
  readonly base: Item | undefined
}

/** Merges one-line entries of the frontmatter by key; undefined if a person has to decide. */
export function mergeFields(hunk: Hunk, state: MergeState): Lines | undefined {
  const isContinued = /^(?:[ \t]|-[ \t\r\n]|[\]}])/.test(hunk.next)
  const entries = isContinued ? undefined : readEntries(hunk, readField)
  const status = entries?.find(({ ours, theirs }) => (ours ?? theirs)?.key === 'status')
  state.leader ??= status && leaderOf(status)
  return mergeAll(entries, (versions) => mergeField(versions, state.leader))
}

/** Merges criteria by number; if both sides added the same number, theirs gets a new one. */
export function mergeCriteria(hunk: Hunk, state: MergeState): Lines | undefined {
  return mergeAll(readEntries(hunk, readCriterion), (versions) => {
    const { ours, theirs, base } = versions
    if (ours === undefined || theirs === undefined) return loneLine(versions)
    const words = threeWay(ours.words, theirs.words, base?.words)
    // A tick wins, unless the base shows that the other side removed it.
    const isDone = threeWay(ours.isDone, theirs.isDone, base?.isDone) ?? true
    if (words !== undefined) return [renderCriterion(ours, words, isDone)]
    if (base !== undefined) return undefined
    state.highest += 1
    return [ours.line, theirs.line.replace(/#\d+/, `#${state.highest}`)]
  })
}

export function highestNumber(lines: Lines): number {
  return lines.reduce((high, line) => Math.max(high, Number(readCriterion(line)?.key ?? 0)), 0)
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
  const merged = entries?.map(merge)
  return merged?.includes(undefined) ? undefined : merged?.flatMap((lines) => lines!)
}

/** Keeps an entry that only one side has, unless the base shows that the other side removed it. */
function loneLine({ ours, theirs, base }: Versions<Entry>): Lines {
  const { line } = (ours ?? theirs)!
  return base?.line.trim() === line.trim() ? [] : [line]
}

function threeWay<Value>(ours: Value, theirs: Value, base: Value | undefined): Value | undefined {
  if (ours === theirs || theirs === base) return ours
  return ours === base ? theirs : undefined
}

function readField(line: string): Field | undefined {
  try {
    const fields: unknown = /^\s/.test(line) ? null : Bun.YAML.parse(line)
    const [entry] = isObject(fields) ? Object.entries(fields) : []
    return entry && { key: entry[0], value: entry[1], line }
  } catch {
    return undefined
  }
}

function mergeField(versions: Versions<Field>, leader: Side | undefined): Lines | undefined {
  const { ours, theirs, base } = versions
  const isAssignee = (ours ?? theirs)?.key === 'assignee'
  if (isAssignee && leader !== undefined) return versions[leader] ? [versions[leader].line] : []
  if (ours === undefined || theirs === undefined) return loneLine(versions)
  const side = changedSide(ours, theirs, base)
  const line = side === undefined ? mergeValues(ours, theirs, base) : { ours, theirs }[side].line
  return line === undefined ? undefined : [line]
}

/** The side to take if the other one is equal or unchanged. */
function changedSide(ours: Field, theirs: Field, base: Field | undefined): Side | undefined {
  const [mine, yours, old] = [ours, theirs, base].map((field) => field?.line.trim())
  if (mine === yours || yours === old) return 'ours'
  return mine === old ? 'theirs' : undefined
}

function mergeValues(ours: Field, theirs: Field, base: Field | undefined): string | undefined {
  switch (ours.key) {
    case 'labels':
    case 'dependencies':
      return mergeLists(ours, theirs, base)
    case 'updatedAt': {
      const [mine, yours] = [ours, theirs].map(({ value }) => Date.parse(String(value)))
      if (Number.isNaN(mine! - yours!)) return undefined
      return yours! > mine! ? theirs.line : ours.line
    }
    case 'status': {
      if (statusOf(ours) !== undefined && statusOf(ours) === statusOf(theirs)) return ours.line
      const leader = leaderOf({ ours, theirs, base })
      return leader && { ours, theirs }[leader].line
    }
    default:
      return undefined
  }
}

const PROGRESS: readonly unknown[] = ['To Do', 'In Progress', 'Done']

/** The side whose status wins; undefined if they are equal or cannot be compared. */
function leaderOf({ ours, theirs, base }: Versions<Field>): Side | undefined {
  if (ours === undefined || theirs === undefined) return undefined
  if (ours.line.trim() === theirs.line.trim()) return undefined
  const side = changedSide(ours, theirs, base)
  if (side !== undefined) return side
  const [mine, yours] = [ours, theirs].map((field) => PROGRESS.indexOf(statusOf(field)))
  if (mine === yours || mine === -1 || yours === -1) return undefined
  return mine! > yours! ? 'ours' : 'theirs'
}

function statusOf({ value }: Field) {
  return findStatus(String(value))
}

/** Our items, then theirs; an item of the base that one side removed stays removed. */
function mergeLists(ours: Field, theirs: Field, base: Field | undefined): string | undefined {
  const [mine, yours, old] = [ours, theirs, base].map(readList)
  if (mine === undefined || yours === undefined) return undefined
  const isKept = (item: string) => (mine.has(item) && yours.has(item)) || !old?.has(item)
  const items = [...mine.union(yours)].filter(isKept)
  return `${ours.key}: ${renderValue(items)}${ours.line.endsWith('\r\n') ? '\r\n' : '\n'}`
}

/** The items of a one-line list without a comment. */
function readList(field: Field | undefined): Set<string> | undefined {
  if (!Array.isArray(field?.value) || !field.line.trimEnd().endsWith(']')) return undefined
  const items: readonly unknown[] = field.value
  return items.every((item) => typeof item === 'string') ? new Set(items) : undefined
}

function readCriterion(line: string): Criterion | undefined {
  const item = readCriterionItem(line, 0, line.length)
  if (item?.written === undefined) return undefined
  return { key: String(item.written), ...item, line }
}

function renderCriterion(ours: Criterion, words: string, isDone: boolean): string {
  const end = ours.line.lastIndexOf(ours.words)
  const line = `${ours.line.slice(0, end)}${words}${ours.line.slice(end + ours.words.length)}`
  if (isDone === ours.isDone) return line
  return `${line.slice(0, ours.mark)}${isDone ? 'x' : ' '}${line.slice(ours.mark + 1)}`
}
