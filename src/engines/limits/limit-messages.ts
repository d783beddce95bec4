import { Fences } from '../../base/code-fences.ts'
import { parseEvent, readLimit } from '../claude/event.ts'
import type { Failure } from '../engine.ts'
import { isResetTime, readResetTime } from './reset-time.ts'

type Kind = Exclude<Failure['kind'], 'error'>

/** Number of non-blank lines at the end of an output that are searched. */
const LAST_LINES = 20
/** Messages of CLIs are shorter; only events may be longer. */
const LONGEST_LINE = 2000

const WHOSE = String.raw`(?:(?:claude|opus|sonnet|haiku|fable|org's|organization's|team's|plan|\d+-hour|session|daily|weekly|monthly|usage)(?: [\d.]+)? ){0,4}`
/** With a reset time after it, it may be the limit of a model that is not listed here. */
const ANY = String.raw`(?:[\w'.-]+ ){0,4}`
const RESETS = String.raw`(?: ?[·∙•|–—-] ?resets(?: at)?|\. resets(?: at)?|\. your limit (?:will reset|resets) at) (?<when>[^·∙•]+?)`
/** A command or advice that follows after another separator. */
const HINT = String.raw`(?: ?[·∙•|–—-] ?(?:(?:run |use |or )?/[a-z]|(?:contact|ask|upgrade|request|add|turn on|enable|switch|visit|manage) ).*)?`

/**
 * Final messages of coding CLIs and their meaning. Each matches a whole line, because agents also
 * write about limits in prose. Apostrophes are normalised and a final full stop is removed.
 */
const MESSAGES: readonly (readonly [Kind, RegExp])[] = [
  // Usage limits. `when` is the reset time.
  ['rate_limited', wholeLine(`you(?:'ve| have) (?:hit|reached) your ${ANY}limit${RESETS}${HINT}`)],
  ['rate_limited', wholeLine(`you(?:'ve| have) (?:hit|reached) your ${WHOSE}limit${HINT}`)],
  ['rate_limited', wholeLine(`you're out of (?:extra )?usage(?:${RESETS})?${HINT}`)],
  ['rate_limited', wholeLine(`${WHOSE}limit reached${RESETS}${HINT}`)],
  ['rate_limited', wholeLine(`claude (?:ai )?usage limit reached${HINT}`)],
  ['rate_limited', wholeLine(String.raw`claude (?:ai )?usage limit reached\|(?<epoch>\d{9,13})`)],
  [
    'rate_limited',
    wholeLine(
      String.raw`you(?:'ve| have) hit your usage limit(?: for [\w. -]{1,40})?\. (?:(?:upgrade|visit|switch|to get|to continue|contact|ask|send|go to) .*?)?(?:(?:or )?try again (?:at|in) (?<when>[^·]{1,80})|try again later|to purchase more credits)`,
    ),
  ],

  // Temporary problems.
  ['overloaded', wholeLine('api error: rate limit (?:reached|exceeded).*')],
  ['overloaded', wholeLine(String.raw`api error: request rejected \(429\).*`)],
  [
    'overloaded',
    wholeLine(
      String.raw`api error: (?:connection (?:refused|error|reset|closed|lost|failed|aborted|timed out|timeout)|request timed out|timed? ?out|unable to connect|network|fetch failed|socket|the socket)\b.*`,
    ),
  ],
  ['overloaded', wholeLine('error: stream disconnected before completion(?:: .*)?')],

  // Not retried.
  ['auth_failed', wholeLine('not logged in(?: · please run /login)?')],
  ['auth_failed', wholeLine('please run /login(?: · api error: 40[13].*)?')],
  ['auth_failed', wholeLine('invalid api key(?: · .*)?')],
  ['auth_failed', wholeLine(String.raw`failed to authenticate\. api error: 40[13]\b.*`)],
  ['auth_failed', wholeLine('credit balance is too low(?: · .*)?')],
  [
    'auth_failed',
    wholeLine('oauth token (?:has expired|has been revoked|revoked|expired)(?:[. ·].*)?'),
  ],
  ['auth_failed', wholeLine(String.raw`there's an issue with the selected model \([^()]*\).*`)],

  ['max_turns', wholeLine(String.raw`error: reached max turns \(\d+\)`)],
  ['budget', wholeLine(String.raw`error: exceeded usd budget \([\d.]+\)`)],
]

/** An API error that a CLI passes on with its status; `failureKindOf` interprets it. */
const API_STATUS = wholeLine(
  String.raw`(?:api error:? \(?(?:repeated )?|error: unexpected status |error: exceeded retry limit, last status: )(?<status>\d{3})\b(?<said>.*)`,
)

/** Short messages that a project's own programs may print too: they count only as the last line. */
const AMBIGUOUS = wholeLine(
  String.raw`(?:not logged in|please run /login|invalid api key|credit balance is too low|oauth token (?:has expired|has been revoked|revoked|expired)|api error:? \(?40[1-4]\)?|you(?:'ve| have) (?:hit|reached) your ${WHOSE}limit|you're out of (?:extra )?usage|claude (?:ai )?usage limit reached)`,
)

/** The meaning of an API error, by its status and, if given, a pattern for its text; the first match wins. */
const STATUS_KINDS: readonly (readonly [Failure['kind'], status: RegExp, message?: RegExp])[] = [
  // Not retried: authentication, missing credit, unknown models.
  ['auth_failed', /^40[123]$/],
  ['auth_failed', /^4\d\d$/, /credit balance|billing_error/i],
  ['auth_failed', /^404$/, /not_found_error|\bmodel\b/i],
  ['overloaded', /^(?:408|429|5\d\d)$/],
]

/** Undefined if the status does not say whether a retry may help. */
export function failureKindOf(
  status: number | string,
  message: string,
): Failure['kind'] | undefined {
  const code = String(status)
  return STATUS_KINDS.find(
    ([, of, pattern]) => of.test(code) && pattern?.test(message) !== false,
  )?.[0]
}

function wholeLine(source: string): RegExp {
  return new RegExp(`^${source}$`, 'i')
}

/** The failure that the end of an output reports; undefined if it has no known message. */
export function readPrintedFailure(text: string, now: Date): Failure | undefined {
  const lines = Bun.stripANSI(text)
    .split('\n')
    .filter((line) => line.trim() !== '')
  let outside: Failure | undefined
  /** In an open code fence: it counts only if the fence is never closed. */
  let inFence: Failure | undefined
  const fences = new Fences(() => (inFence = undefined))
  for (const [index, line] of lines.entries()) {
    if (fences.take(line) || index < lines.length - LAST_LINES) continue
    // CLIs do not indent these messages; test names and logs often are indented.
    const trimmed = line.replace(/^\r+/, '').trimEnd()
    const failure = readLine(trimmed, index === lines.length - 1, now)
    if (fences.isOpen) inFence = failure ?? inFence
    else outside = failure ?? outside
  }
  return inFence ?? outside
}

function readLine(line: string, isLast: boolean, now: Date): Failure | undefined {
  if (line.startsWith('{')) return readLimitEvent(line)
  if (line.length > LONGEST_LINE) return undefined
  const text = line.replaceAll(/[‘’]/g, "'").replaceAll(/\s+/g, ' ').replace(/\.$/, '')
  const bare = text.replace(/^error: /i, '')
  if (!isLast && AMBIGUOUS.test(bare)) return undefined
  return readMessage(text, line, now) ?? readMessage(bare, line, now) ?? readStatusLine(text, line)
}

function readStatusLine(text: string, message: string): Failure | undefined {
  const { status = '', said = '' } = API_STATUS.exec(text)?.groups ?? {}
  const kind = failureKindOf(status, said)
  return kind === undefined ? undefined : { kind, message }
}

function readMessage(text: string, message: string, now: Date): Failure | undefined {
  for (const [kind, pattern] of text === '' ? [] : MESSAGES) {
    const match = pattern.exec(text)
    const { when, epoch } = match?.groups ?? {}
    // Without a valid time it is prose.
    if (match === null || (when !== undefined && !isResetTime(when))) continue
    const resetsAt = when === undefined ? readEpoch(epoch) : readResetTime(when, now)
    return { kind, message, ...(resetsAt === undefined ? {} : { resetsAt }) }
  }
  return undefined
}

/** Seconds or milliseconds, by their size. */
function readEpoch(digits: string | undefined): number | undefined {
  if (digits === undefined) return undefined
  return digits.length > 11 ? Math.floor(Number(digits) / 1000) : Number(digits)
}

/** Wrapper scripts pass on the events of `claude`. */
function readLimitEvent(line: string): Failure | undefined {
  const event = parseEvent(line)
  if (event?.['type'] !== 'rate_limit_event') return undefined
  const limit = readLimit(event)
  if (limit?.status !== 'rejected') return undefined
  const { resetsAt } = limit
  const message = 'claude reported that its usage limit is reached'
  const known = resetsAt === undefined ? {} : { resetsAt: Math.ceil(resetsAt) }
  return { kind: 'rate_limited', message, ...known }
}
