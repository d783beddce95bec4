const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')

const DATE =
  /(?<month>[a-z]{3,9})\.? (?<day>\d{1,2})(?:st|nd|rd|th)?(?:,? (?<year>\d{4}))?(?:,| at|, at)? /
const CLOCK = /(?<hour>\d{1,2})(?::(?<minute>\d{2}))? ?(?<half>am|pm)?/
const ZONE = /(?: \((?<zone>[^()]{1,40})\))?/
/** For example "5pm", "12:34am (UTC)", "Nov 20 at 5pm (Europe/Vilnius)", "Nov 20th, 2026 5:00 PM". */
const MOMENT = new RegExp(`^(?:${DATE.source})?${CLOCK.source}${ZONE.source}$`, 'i')

const SPAN_MS = { day: 86_400_000, hour: 3_600_000, minute: 60_000, second: 1000 } as const
const SPAN = /(\d+) (day|hour|minute|second)s?/gi
/** For example "2 hours 13 minutes". */
const SPANS = /^(?:\d+ (?:day|hour|minute|second)s?(?:,? | and )?)+$/i

/** A time without seconds may be slightly in the past. */
const JUST_OVER_MS = 2 * 60_000
/** A reset time without a date is never this far away: it has already passed. */
const FAR_MS = 18 * 3_600_000

interface Moment {
  readonly year: number
  /** From 0. */
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
}

/** Whether the text is a time or a duration, as CLIs write them. */
export function isResetTime(words: string): boolean {
  return MOMENT.test(words) || SPANS.test(words)
}

/** The time in seconds since 1970; an incomplete date means its next occurrence after `now`. */
export function readResetTime(words: string, now: Date): number | undefined {
  if (SPANS.test(words)) return Math.ceil((now.getTime() + spanMs(words)) / 1000)
  const groups = MOMENT.exec(words)?.groups
  if (groups === undefined) return undefined
  const clock = readClock(groups)
  const calendar = calendarOf(groups['zone'])
  if (clock === undefined) return undefined
  const ms =
    groups['month'] === undefined
      ? nextClock(clock, calendar, now.getTime())
      : nearestDate(groups, clock, calendar, now.getTime())
  return ms === undefined ? undefined : ms / 1000
}

function spanMs(words: string): number {
  const parts = [...words.matchAll(SPAN)]
  return parts.reduce((sum, [, count, unit]) => {
    return sum + Number(count) * SPAN_MS[unit!.toLowerCase() as keyof typeof SPAN_MS]
  }, 0)
}

type Groups = Readonly<Record<string, string | undefined>>
type Clock = Pick<Moment, 'hour' | 'minute'>

function readClock({ hour, minute, half }: Groups): Clock | undefined {
  const clock = { hour: Number(hour), minute: Number(minute ?? 0) }
  if (clock.minute > 59) return undefined
  // "17:00" is a time of day; "17" could be anything.
  if (half === undefined) return minute !== undefined && clock.hour < 24 ? clock : undefined
  if (clock.hour < 1 || clock.hour > 12) return undefined
  return { ...clock, hour: (clock.hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0) }
}

function nextClock(clock: Clock, calendar: Calendar, now: number): number | undefined {
  const today = wallClock(calendar, now)
  const all = [-1, 0, 1, 2]
    .map((days) => new Date(Date.UTC(today.year, today.month, today.day + days)))
    .flatMap((date) => {
      const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate()]
      return moments({ year, month, day, ...clock }, calendar)
    })
  const next = all.find((ms) => ms > now - JUST_OVER_MS)
  return next !== undefined && next > now + FAR_MS ? all.findLast((ms) => ms <= now) : next
}

/** Without a year the nearest such date is used: no limit lasts a year. */
function nearestDate(
  { month: name, day, year }: Groups,
  clock: Clock,
  calendar: Calendar,
  now: number,
): number | undefined {
  const month = MONTHS.indexOf(name!.slice(0, 3).toLowerCase())
  if (month === -1 || Number(day) < 1 || Number(day) > 31) return undefined
  const thisYear = new Date(now).getUTCFullYear()
  const years = year === undefined ? [thisYear - 1, thisYear, thisYear + 1] : [Number(year)]
  return years
    .flatMap((each) => moments({ year: each, month, day: Number(day), ...clock }, calendar))
    .toSorted((one, other) => Math.abs(one - now) - Math.abs(other - now))[0]
}

type Calendar = Intl.DateTimeFormat

/** Formats the wall clock of a time zone, or of the local one if it is unknown or absent. */
function calendarOf(timeZone: string | undefined): Calendar {
  const parts = { year: 'numeric', month: 'numeric', day: 'numeric' } as const
  const clock = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const
  const form = (zone: object) => new Intl.DateTimeFormat('en-US', { ...parts, ...clock, ...zone })
  try {
    return form(timeZone === undefined ? {} : { timeZone })
  } catch {
    return form({})
  }
}

function wallClock(calendar: Calendar, ms: number): Moment & { readonly asUtc: number } {
  const parts = Object.fromEntries(
    calendar.formatToParts(ms).map(({ type, value }) => [type, Number(value)]),
  )
  const at = (name: string) => parts[name] ?? 0
  const [year, month, day] = [at('year'), at('month') - 1, at('day')]
  const [hour, minute] = [at('hour'), at('minute')]
  return {
    year,
    month,
    day,
    hour,
    minute,
    asUtc: Date.UTC(year, month, day, hour, minute, at('second')),
  }
}

/** The times at which a wall clock shows this: two if the clock is set back in between. */
function moments({ year, month, day, hour, minute }: Moment, calendar: Calendar): number[] {
  const asUtc = Date.UTC(year, month, day, hour, minute)
  const shift = (ms: number) => wallClock(calendar, ms).asUtc - ms
  const [before, after] = [shift(asUtc - SPAN_MS.day), shift(asUtc + SPAN_MS.day)]
  const found = [...new Set([asUtc - before, asUtc - after])]
    .filter((ms) => wallClock(calendar, ms).asUtc === asUtc)
    .toSorted((one, other) => one - other)
  // A time skipped when the clock is set forward comes that much later.
  return found.length === 0 ? [asUtc - before] : found
}
