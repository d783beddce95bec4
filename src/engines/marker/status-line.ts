import { oneLine, shorten } from '../../base/shorten.ts'
import type { Refusal } from '../../records/events/schema.ts'

const MARKER = /^(?:ORCHESTRA|FORKHESTRA)_COMPLETE$/
const QUOTES = /^["'“”„‘’«»]+|["'“”„‘’«»]+$/g

/** The word alone may be bold, as labels in Markdown are. */
const BLOCKED =
  /^(?<bold>\*\*|__)?(?:ORCHESTRA|FORKHESTRA)_BLOCKED(?:\k<bold>:|:\k<bold>|\k<bold>$)(?<reason>.*)$/s
const WITHOUT_COLON = /^(?:\*\*|__)?(?:ORCHESTRA|FORKHESTRA)_BLOCKED(?:\*\*|__)?\s/
/** `<reason>`, as in the instructions that an agent may quote. */
const PLACEHOLDER = /^<[^<>]*>$/
const LOWER_BLOCKED = /^(?:orchestra|forkhestra)_blocked/
const LONGEST_REASON = 500

const ESCAPE = 27

const WORDS = ['ORCHESTRA', 'FORKHESTRA'].flatMap((name) => [`${name}_COMPLETE`, `${name}_BLOCKED`])
const STATUS_START = /^(?:ORCHESTRA|FORKHESTRA)_(?:COMPLETE[\s*_`]*$|BLOCKED)/
const BEFORE_WORD = /^[\s*_`]+/
const CUT_CHARACTER = /\ufffd+$/
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u001b\u0080-\u009f]/

/** A line without colours, surrounding white space, and Markdown around all of it. */
export function contentOf(line: Buffer): string {
  return unwrap(withoutColours(line).toString('utf8').trim())
}

export function withoutColours(line: Buffer): Buffer {
  return line.includes(ESCAPE) ? Buffer.from(Bun.stripANSI(line.toString('utf8'))) : line
}

/** Removes `**`, `__` and backticks around the whole line, unless it contains a carriage return. */
function unwrap(text: string): string {
  const match = /^(\*\*|__|`+)(.+)\1$/.exec(text)
  return match === null ? text : unwrap(match[2]!.trim())
}

export function isMarker(content: string): boolean {
  return MARKER.test(content)
}

/** Whether a run would take the line as the marker or as a report that its agent is blocked. */
export function isStatusLine(line: Buffer): boolean {
  const content = contentOf(line)
  return isMarker(content) || readBlocked(content) !== undefined
}

/** Whether a line that starts like this can become a status line. */
export function mayBecomeStatusLine(start: Buffer): boolean {
  // A chunk may end inside a character or an escape sequence.
  const text = withoutColours(start).toString('utf8').replace(CUT_CHARACTER, '')
  if (CONTROL.test(text)) return true
  const content = text.replace(BEFORE_WORD, '')
  return STATUS_START.test(content) || WORDS.some((word) => word.startsWith(content))
}

/** Why a line that mentions the marker is not the marker. */
export function refusalOf(content: string): Refusal {
  if (MARKER.test(content.toUpperCase())) return 'letter_case'
  if (MARKER.test(content.replaceAll(QUOTES, '').trim())) return 'quotes'
  return 'longer_line'
}

/** The reason why the agent is blocked; undefined if the line does not report that. */
export function readBlocked(content: string): string | undefined {
  const found = BLOCKED.exec(content)?.groups?.['reason']
  if (found === undefined) return undefined
  const reason = oneLine(found)
  if (PLACEHOLDER.test(reason)) return undefined
  return reason === '' ? 'no reason given' : shorten(reason, LONGEST_REASON)
}

/** Why a line that was meant to report a blocked agent does not count; undefined for other lines. */
export function blockedRefusalOf(content: string): Refusal | undefined {
  if (WITHOUT_COLON.test(content)) return 'no_colon'
  if (readBlocked(content.replace(LOWER_BLOCKED, (word) => word.toUpperCase())) !== undefined)
    return 'letter_case'
  return readBlocked(content.replaceAll(QUOTES, '').trim()) === undefined ? undefined : 'quotes'
}
