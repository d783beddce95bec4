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

/** Whether the text is a time or a duration, as CLIs write them. */
export function isResetTime(text: string): boolean {
  return MOMENT.test(text) || SPANS.test(text)
}

/** The time in seconds since 1970; an incomplete date means its next occurrence after `now`. */
export function readResetTime(text: string, now: Date): number | undefined {
  if (SPANS.test(text)) return Math.ceil((now.getTime() + spanMs(text)) / 1000)
  const groups = MOMENT.exec(text)?.groups
  if (groups === undefined) return undefined
  const time = readClock(groups)
  if (time === undefined) return undefined
  const zone = zoneOf(groups['zone'])
  const ms =
    groups['month'] === undefined
      ? nextClock(time, zone, now.getTime())
      : nearestDate(groups, time, zone, now.getTime())
  return ms === undefined ? undefined : ms / 1000
}

function spanMs(text: string): number {
  const parts = [...text.matchAll(SPAN)]
  return parts.reduce((sum, [, count, unit]) => {
    return sum + Number(count) * SPAN_MS[unit!.toLowerCase() as keyof typeof SPAN_MS]
  }, 0)
}

type Groups = Readonly<Record<string, string | undefined>>
type Clock = Temporal.PlainTime

function readClock({ hour: digits, minute: minutes, half }: Groups): Clock | undefined {
  const [hour, minute] = [Number(digits), Number(minutes ?? 0)]
  if (minute > 59) return undefined
  // "17:00" is a time of day; "17" could be anything.
  if (half === undefined && (minutes === undefined || hour > 23)) return undefined
  if (half === undefined) return new Temporal.PlainTime(hour, minute)
  if (hour < 1 || hour > 12) return undefined
  return new Temporal.PlainTime((hour % 12) + (half.toLowerCase() === 'pm' ? 12 : 0), minute)
}

/** The local zone if the zone is unknown or absent. */
function zoneOf(name: string | undefined): string {
  try {
    return name === undefined ? Temporal.Now.timeZoneId() : timeIn(name, 0).timeZoneId
  } catch {
    return Temporal.Now.timeZoneId()
  }
}

function timeIn(zone: string, ms: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(zone)
}

function nextClock(time: Clock, zone: string, now: number): number | undefined {
  const today = timeIn(zone, now).toPlainDate()
  const all = [-1, 0, 1, 2].map((days) => momentOf(today.add({ days }), time, zone))
  const next = all.find((ms) => ms > now - JUST_OVER_MS)
  return next !== undefined && next > now + FAR_MS ? all.findLast((ms) => ms <= now) : next
}

/** Without a year the nearest such date is used: no limit lasts a year. */
function nearestDate(
  { month: name, day: digits, year }: Groups,
  time: Clock,
  zone: string,
  now: number,
): number | undefined {
  const month = MONTHS.indexOf(name!.slice(0, 3).toLowerCase()) + 1
  const day = Number(digits)
  if (month === 0 || day < 1 || day > 31) return undefined
  const thisYear = new Date(now).getUTCFullYear()
  const years = year === undefined ? [thisYear - 1, thisYear, thisYear + 1] : [Number(year)]
  return years
    .map((each) => Temporal.PlainDate.from({ year: each, month, day }))
    .map((date) => momentOf(date, time, zone))
    .toSorted((one, other) => Math.abs(one - now) - Math.abs(other - now))[0]
}

function momentOf(date: Temporal.PlainDate, time: Clock, zone: string): number {
  return date.toPlainDateTime(time).toZonedDateTime(zone).epochMilliseconds
}
