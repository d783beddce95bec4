import { fails, limitEvent, refuses, type Session } from './session.ts'

/** The right reaction: wait for the reset, retry soon, or treat it as any other failure. */
type Want = 'wait' | 'retry' | 'fail'

export interface LimitCase {
  readonly id: string
  /** The name in the table. */
  readonly title: string
  readonly want: Want
  readonly say: (times: Times) => Session
  /** Which of the times is its reset, in seconds since 1970. */
  readonly resetsAt?: (times: Times) => number
}

/** All in seconds since 1970. */
export interface Times {
  /** A full hour, for messages with a clock time. */
  readonly hour: number
  readonly twentyPast: number
  /** To the second, for events. */
  readonly exact: number
}

const HOUR = 3600

/** Between one and two hours ahead: longer than any run here, shorter than the longest allowed wait. */
export function timesAt(now: number, exactlyInSeconds: number): Times {
  const hour = (Math.floor(now / 1000 / HOUR) + 2) * HOUR
  return {
    hour,
    twentyPast: hour + 20 * 60,
    exact: Math.ceil(now / 1000) + exactlyInSeconds,
  }
}

const FAILURE = 'Error: 2 of 14 tests failed'
const OVERLOADED =
  'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
const PROSE = 'I implemented the rate limit middleware: it returns 429 once the limit is reached.'
// A zone without daylight saving time, so that every clock time is unambiguous.
const ZONE = 'Asia/Tokyo'

export const LIMITS: readonly LimitCase[] = [
  {
    id: 'A',
    title: "`You've hit your limit · resets 5pm (Asia/Tokyo)`",
    want: 'wait',
    say: ({ hour }) => refuses(`You've hit your limit · resets ${clock(hour, ZONE)} (${ZONE})`),
    resetsAt: ({ hour }) => hour,
  },
  {
    id: 'B',
    title: "`You've hit your session limit · resets 8:20pm (Asia/Tokyo)`",
    want: 'wait',
    say: ({ twentyPast }) =>
      refuses(`You've hit your session limit · resets ${clock(twentyPast, ZONE)} (${ZONE})`),
    resetsAt: ({ twentyPast }) => twentyPast,
  },
  {
    id: 'C',
    title: '`Claude usage limit reached. Your limit will reset at 7pm (Asia/Tokyo).`',
    want: 'wait',
    say: ({ hour }) =>
      refuses(
        `Claude usage limit reached. Your limit will reset at ${clock(hour, ZONE)} (${ZONE}).`,
      ),
    resetsAt: ({ hour }) => hour,
  },
  {
    id: 'D',
    title: "`You're out of extra usage · resets 9pm`",
    want: 'wait',
    say: ({ hour }) => refuses(`You're out of extra usage · resets ${clock(hour, 'UTC')}`),
    resetsAt: ({ hour }) => hour,
  },
  {
    id: 'E',
    title: '`rate_limit_event` with `"status":"rejected","resetsAt":…`',
    want: 'wait',
    say: ({ exact }) =>
      eventAnd(fails('The session ended early', 429), {
        status: 'rejected',
        resetsAt: exact,
        rateLimitType: 'five_hour',
      }),
    resetsAt: ({ exact }) => exact,
  },
  {
    id: 'F',
    title: '`API Error: 529 … overloaded_error`',
    want: 'retry',
    say: () => refuses(OVERLOADED),
  },
  {
    id: 'G',
    title: 'prose about a rate limit and 429, then failing tests',
    want: 'fail',
    say: () => fails(`${PROSE}\n\n${FAILURE}`),
  },
  {
    id: 'H',
    title: '`rate_limit_event` with `"status":"allowed","overageStatus":"rejected"`, failing tests',
    want: 'fail',
    say: ({ exact }) =>
      eventAnd(fails(FAILURE), {
        status: 'allowed',
        resetsAt: exact,
        rateLimitType: 'five_hour',
        overageStatus: 'rejected',
        isUsingOverage: false,
      }),
  },
]

/** A failure that does not mention limits, as the baseline of each tool. */
export const PLAIN_FAILURE: Session = fails(FAILURE)

/** In text output, the event is a line before the message, as a wrapper around `claude` passes it on. */
function eventAnd({ text, events, exit }: Session, info: object): Session {
  const event = limitEvent(info)
  return {
    text: `${JSON.stringify(event)}\n${text}`,
    events: [...events.slice(0, 1), event, ...events.slice(1)],
    exit,
  }
}

/** `5pm`, `8:20pm` */
function clock(seconds: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hour: 'numeric',
    minute: '2-digit',
    hour12: true,
  })
  return format
    .format(new Date(seconds * 1000))
    .toLowerCase()
    .replaceAll(/\s/g, '')
    .replace(':00', '')
}
