import { shorten } from '../base/shorten.ts'
import type { Refusal } from '../events/schema.ts'

const MARKER = /^(?:ORCHESTRA|FORKHESTRA)_COMPLETE$/
const QUOTES = /^["'“”„‘’«»]+|["'“”„‘’«»]+$/g

/** The word may be bold without its reason, as labels in Markdown are. */
const BLOCKED =
  /^(?<bold>\*\*|__)?(?:ORCHESTRA|FORKHESTRA)_BLOCKED(?:\k<bold>:|:\k<bold>|\k<bold>$)(?<reason>.*)$/s
/** What stands for a reason where the rule itself is quoted. */
const PLACEHOLDER = /^<[^<>]*>$/
const LONGEST_REASON = 500

const ESCAPE = 27

/** The words of a line, without colours, space around them, and Markdown that holds them all. */
export function wordsOf(line: Buffer): string {
  return unwrap(withoutColours(line).toString('utf8').trim())
}

export function withoutColours(line: Buffer): Buffer {
  return line.includes(ESCAPE) ? Buffer.from(Bun.stripANSI(line.toString('utf8'))) : line
}

/** Takes `**`, `__` and backticks off, where they hold the whole line. */
function unwrap(text: string): string {
  const match = /^(\*\*|__|`+)(.+)\1$/s.exec(text)
  return match === null ? text : unwrap(match[2]!.trim())
}

export function isMarker(words: string): boolean {
  return MARKER.test(words)
}

/** Why words that mention the marker are not the marker. */
export function whyNotMarker(words: string): Refusal {
  if (MARKER.test(words.toUpperCase())) return 'letter_case'
  if (MARKER.test(words.replaceAll(QUOTES, '').trim())) return 'quotes'
  return 'longer_line'
}

/** Why the agent cannot go on; undefined where the words do not say that it cannot. */
export function readBlocked(words: string): string | undefined {
  const found = BLOCKED.exec(words)?.groups?.['reason']
  if (found === undefined) return undefined
  const reason = found.trim().replaceAll(/\s+/g, ' ')
  if (PLACEHOLDER.test(reason)) return undefined
  return reason === '' ? 'no reason given' : shorten(reason, LONGEST_REASON)
}
