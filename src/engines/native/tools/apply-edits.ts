import { listed } from '../../../base/shorten.ts'
import { bytesOf, endsWithCrlf, textOf, withCrlf } from './line-ends.ts'
import { explainMismatch } from './no-match.ts'

export interface Edit {
  readonly old: string
  readonly new: string
  readonly replaceAll?: boolean | undefined
}

/** `lines` has the numbers of the lines where text was found. */
type Applied<Lines> =
  { readonly content: string; readonly lines: Lines } | { readonly problem: string }

/** Applies the edits in order, all or none. `content` has one character per byte (latin1). */
export function applyEdits(
  content: string,
  edits: readonly Edit[],
): Applied<readonly (readonly number[])[]> {
  const isCrlf = endsWithCrlf(content)
  const lines: (readonly number[])[] = []
  let now = content
  for (const [at, edit] of edits.entries()) {
    const applied = applyEdit(now, edit, isCrlf)
    if ('problem' in applied) {
      const place = edits.length === 1 ? '' : `edits[${at}]: `
      return { problem: `${place}${applied.problem}` }
    }
    now = applied.content
    lines.push(applied.lines)
  }
  return { content: now, lines }
}

function applyEdit(content: string, edit: Edit, isCrlf: boolean): Applied<readonly number[]> {
  if (edit.old === '')
    return { problem: 'old is empty; use write for new files, edit changes existing text' }
  if (edit.old === edit.new) return { problem: 'old and new are the same' }
  const { old, by, starts } = find(content, edit, isCrlf)
  if (starts.length === 0) return { problem: explainMismatch(textOf(content), edit.old) }
  if (starts.length > 1 && edit.replaceAll !== true)
    return { problem: describeAmbiguity(content, starts) }
  return { content: replaceAt(content, starts, old, by), lines: lineNumbers(content, starts) }
}

/** Also tries CRLF: models write LF for files with either, unless they mean the line ends. */
function find(content: string, edit: Edit, isCrlf: boolean) {
  const [old, by] = [bytesOf(edit.old), bytesOf(edit.new)]
  const isAll = edit.replaceAll === true
  const isMeant = !isCrlf || old.includes('\r')
  const exact = { old, by, starts: isMeant ? startsOf(content, old, isAll) : [] }
  if (exact.starts.length > 0 || !content.includes('\r\n')) return exact
  const inCrlf = withCrlf(old)
  return { old: inCrlf, by: withCrlf(by), starts: startsOf(content, inCrlf, isAll) }
}

/** A limit, because counting takes long in repetitive text. */
const MOST_COUNTED = 100

/** The places to replace. Unless all are replaced, overlapping ones also count: any could be meant. */
function startsOf(content: string, old: string, isAll: boolean): number[] {
  const starts: number[] = []
  const most = isAll ? Infinity : MOST_COUNTED + 1
  for (let at = content.indexOf(old); at !== -1 && starts.length < most;) {
    const isWhole = !splitsCrlf(content, at) && !splitsCrlf(content, at + old.length)
    if (isWhole) starts.push(at)
    at = content.indexOf(old, at + (isWhole && isAll ? old.length : 1))
  }
  return starts
}

/** CRLF is one line end and never matched by half. */
function splitsCrlf(content: string, at: number): boolean {
  return content[at - 1] === '\r' && content[at] === '\n'
}

function replaceAt(content: string, starts: readonly number[], old: string, by: string): string {
  const parts: string[] = []
  let end = 0
  for (const start of starts) {
    parts.push(content.slice(end, start), by)
    end = start + old.length
  }
  return parts.join('') + content.slice(end)
}

function lineNumbers(content: string, starts: readonly number[]): number[] {
  let [line, at] = [1, 0]
  return starts.map((start) => {
    line += content.slice(at, start).split('\n').length - 1
    at = start
    return line
  })
}

const MOST_NAMED = 10

export function describeLines(numbers: readonly number[]): string {
  const lines = [...new Set(numbers)]
  return `${lines.length === 1 ? 'line' : 'lines'} ${listed(lines, MOST_NAMED)}`
}

function describeAmbiguity(content: string, starts: readonly number[]): string {
  const where = describeLines(lineNumbers(content, starts))
  const count = starts.length > MOST_COUNTED ? `more than ${MOST_COUNTED}` : starts.length
  return `old occurs ${count} times, at ${where}; add surrounding text, or set replaceAll`
}
