import { Fences } from '../base/fences.ts'
import { kindOfAnswer } from './api-status.ts'
import { parseEvent, readLimit } from './claude-event.ts'
import type { Failure } from './engine.ts'
import { isWhen, readWhen } from './reset-time.ts'

type Kind = Exclude<Failure['kind'], 'error'>

/** How many lines at the end of an output are its last words; blank ones are none. */
const LAST_LINES = 20
/** No message of a CLI is longer; an event may be. */
const LONGEST_LINE = 2000

const WHOSE = String.raw`(?:(?:claude|opus|sonnet|haiku|fable|org's|organization's|team's|plan|\d+-hour|session|daily|weekly|monthly|usage)(?: [\d.]+)? ){0,4}`
/** With a time behind it, it may be the limit of a model that nobody knows yet. */
const ANY = String.raw`(?:[\w'.-]+ ){0,4}`
const RESETS = String.raw`(?: ?[·∙•|–—-] ?resets(?: at)?|\. resets(?: at)?|\. your limit (?:will reset|resets) at) (?<when>[^·∙•]+?)`
/** What to do next stands behind another dot; it is a command or an advice, not a sentence. */
const HINT = String.raw`(?: ?[·∙•|–—-] ?(?:(?:run |use |or )?/[a-z]|(?:contact|ask|upgrade|request|add|turn on|enable|switch|visit|manage) ).*)?`

/**
 * Last words of coding CLIs and what they mean. Each is a whole line, from end to end: people and
 * agents also write about limits. Apostrophes are straight here, and there is no full stop at the end.
 */
const WORDINGS: readonly (readonly [Kind, RegExp])[] = [
  // Quotas. `when` is the reset.
  ['rate_limited', wording(`you(?:'ve| have) (?:hit|reached) your ${ANY}limit${RESETS}${HINT}`)],
  ['rate_limited', wording(`you(?:'ve| have) (?:hit|reached) your ${WHOSE}limit${HINT}`)],
  ['rate_limited', wording(`you're out of (?:extra )?usage(?:${RESETS})?${HINT}`)],
  ['rate_limited', wording(`${WHOSE}limit reached${RESETS}${HINT}`)],
  ['rate_limited', wording(`claude (?:ai )?usage limit reached${HINT}`)],
  ['rate_limited', wording(String.raw`claude (?:ai )?usage limit reached\|(?<epoch>\d{9,13})`)],
  [
    'rate_limited',
    wording(
      String.raw`you(?:'ve| have) hit your usage limit(?: for [\w. -]{1,40})?\. (?:(?:upgrade|visit|switch|to get|to continue|contact|ask|send|go to) .*?)?(?:(?:or )?try again (?:at|in) (?<when>[^·]{1,80})|try again later|to purchase more credits)`,
    ),
  ],

  // What is better a little later.
  ['overloaded', wording('api error: rate limit (?:reached|exceeded).*')],
  ['overloaded', wording(String.raw`api error: request rejected \(429\).*`)],
  [
    'overloaded',
    wording(
      String.raw`api error: (?:connection (?:refused|error|reset|closed|lost|failed|aborted|timed out|timeout)|request timed out|timed? ?out|unable to connect|network|fetch failed|socket|the socket)\b.*`,
    ),
  ],
  ['overloaded', wording('error: stream disconnected before completion(?:: .*)?')],

  // What no second try makes better.
  ['auth_failed', wording('not logged in(?: · please run /login)?')],
  ['auth_failed', wording('please run /login(?: · api error: 40[13].*)?')],
  ['auth_failed', wording('invalid api key(?: · .*)?')],
  ['auth_failed', wording(String.raw`failed to authenticate\. api error: 40[13]\b.*`)],
  ['auth_failed', wording('credit balance is too low(?: · .*)?')],
  [
    'auth_failed',
    wording('oauth token (?:has expired|has been revoked|revoked|expired)(?:[. ·].*)?'),
  ],
  ['auth_failed', wording(String.raw`there's an issue with the selected model \([^()]*\).*`)],

  ['max_turns', wording(String.raw`error: reached max turns \(\d+\)`)],
  ['budget', wording(String.raw`error: exceeded usd budget \([\d.]+\)`)],
]

/** An answer of an API, handed on with its status; `api-status.ts` says what it means. */
const ANSWERED = wording(
  String.raw`(?:api error:? \(?(?:repeated )?|error: unexpected status |error: exceeded retry limit, last status: )(?<status>\d{3})\b(?<said>.*)`,
)

/** So little is also printed by programs that a project is about; then more lines follow. */
const FEW_WORDS = wording(
  String.raw`(?:not logged in|please run /login|invalid api key|credit balance is too low|oauth token (?:has expired|has been revoked|revoked|expired)|api error:? \(?40[1-4]\)?|you(?:'ve| have) (?:hit|reached) your ${WHOSE}limit|you're out of (?:extra )?usage|claude (?:ai )?usage limit reached)`,
)

function wording(source: string): RegExp {
  return new RegExp(`^${source}$`, 'i')
}

/** What the last words of an output say about why it ended; undefined where they say nothing known. */
export function readLastWords(text: string, now: Date): Failure | undefined {
  const lines = Bun.stripANSI(text)
    .split('\n')
    .filter((line) => line.trim() !== '')
  const said = new LastSaid()
  for (const [index, line] of lines.entries()) {
    const bytes = Buffer.from(line)
    if (said.fences.take(bytes, 0, bytes.length) || index < lines.length - LAST_LINES) continue
    // What a CLI says of itself is not indented, as the names of tests and logs often are.
    const words = line.replace(/^\r+/, '').trimEnd()
    said.take(readLine(words, index === lines.length - 1, now))
  }
  return said.failure
}

/** The last one that is not in a closed code fence. */
class LastSaid {
  readonly fences = new Fences(() => (this.#inBlock = undefined))
  #outside: Failure | undefined
  #inBlock: Failure | undefined

  take(failure: Failure | undefined): void {
    if (failure === undefined) return
    if (this.fences.isOpen) this.#inBlock = failure
    else this.#outside = failure
  }

  get failure(): Failure | undefined {
    return this.#inBlock ?? this.#outside
  }
}

function readLine(line: string, isLast: boolean, now: Date): Failure | undefined {
  if (line.startsWith('{')) return readLimitEvent(line)
  if (line.length > LONGEST_LINE) return undefined
  const words = line.replaceAll(/[‘’]/g, "'").replaceAll(/\s+/g, ' ').replace(/\.$/, '')
  const bare = words.replace(/^error: /i, '')
  if (!isLast && FEW_WORDS.test(bare)) return undefined
  return readWords(words, line, now) ?? readWords(bare, line, now) ?? readAnswer(words, line)
}

function readAnswer(words: string, message: string): Failure | undefined {
  const { status = '', said = '' } = ANSWERED.exec(words)?.groups ?? {}
  const kind = kindOfAnswer(status, said)
  return kind === undefined ? undefined : { kind, message }
}

function readWords(words: string, message: string, now: Date): Failure | undefined {
  for (const [kind, pattern] of words === '' ? [] : WORDINGS) {
    const match = pattern.exec(words)
    const { when, epoch } = match?.groups ?? {}
    // Words that are no time make it a sentence.
    if (match === null || (when !== undefined && !isWhen(when))) continue
    const resetsAt = when === undefined ? readEpoch(epoch) : readWhen(when, now)
    return { kind, message, ...(resetsAt === undefined ? {} : { resetsAt }) }
  }
  return undefined
}

/** Seconds or milliseconds, by their size. */
function readEpoch(digits: string | undefined): number | undefined {
  if (digits === undefined) return undefined
  return digits.length > 11 ? Math.floor(Number(digits) / 1000) : Number(digits)
}

/** Wrappers hand the events of `claude` through. */
function readLimitEvent(line: string): Failure | undefined {
  const event = parseEvent(line)
  if (event?.['type'] !== 'rate_limit_event') return undefined
  const limit = readLimit(event)
  if (limit?.status !== 'rejected') return undefined
  const { resetsAt } = limit
  const message = 'claude says that its usage limit is reached'
  const known = resetsAt === undefined ? {} : { resetsAt: Math.ceil(resetsAt) }
  return { kind: 'rate_limited', message, ...known }
}
