import { describe, expect, test } from 'bun:test'
import { isResetTime, readResetTime } from './reset-time.ts'

const read = (text: string, now: string) => {
  const seconds = readResetTime(text, new Date(now))
  return seconds === undefined ? undefined : new Date(seconds * 1000).toISOString().slice(0, 16)
}

describe('a time of day is its next occurrence in its time zone', () => {
  test.each([
    ['5pm (UTC)', '2026-11-16T12:00:00Z', '2026-11-16T17:00'],
    ['5pm (Europe/Vilnius)', '2026-11-16T12:00:00Z', '2026-11-16T15:00'],
    ['8:20pm (America/New_York)', '2026-11-16T12:00:00Z', '2026-11-17T01:20'],
    ['5:00 PM (UTC)', '2026-11-16T12:00:00Z', '2026-11-16T17:00'],
    ['17:05 (UTC)', '2026-11-16T12:00:00Z', '2026-11-16T17:05'],
    ['12am (UTC)', '2026-11-16T12:00:00Z', '2026-11-17T00:00'],
    ['12pm (UTC)', '2026-11-16T11:00:00Z', '2026-11-16T12:00'],
    // Both sides of midnight.
    ['12:34am (UTC)', '2026-11-16T23:59:59Z', '2026-11-17T00:34'],
    ['12:34am (UTC)', '2026-11-17T00:00:01Z', '2026-11-17T00:34'],
    ['11pm (UTC)', '2026-12-31T23:30:00Z', '2026-12-31T23:00'],
    ['11pm (UTC)', '2027-01-01T06:30:00Z', '2027-01-01T23:00'],
    ['1am (Asia/Tokyo)', '2026-11-16T15:30:00Z', '2026-11-16T16:00'],
    ['11pm (Asia/Tokyo)', '2026-11-16T15:30:00Z', '2026-11-16T14:00'],
    ['1am (Pacific/Kiritimati)', '2026-11-16T09:30:00Z', '2026-11-16T11:00'],
    ['4:30am (Asia/Calcutta)', '2026-11-16T12:00:00Z', '2026-11-16T23:00'],
    // A time that has just passed does not mean tomorrow.
    ['5pm (UTC)', '2026-11-16T17:01:30Z', '2026-11-16T17:00'],
    ['12am (UTC)', '2026-11-17T00:00:30Z', '2026-11-17T00:00'],
    ['11:59pm (UTC)', '2026-11-17T00:00:30Z', '2026-11-16T23:59'],
    ['5pm (UTC)', '2026-11-16T22:00:00Z', '2026-11-16T17:00'],
    ['5pm (UTC)', '2026-11-16T23:30:00Z', '2026-11-17T17:00'],
  ])('%s, at %s', (text, now, moment) => {
    expect(read(text, now)).toBe(moment)
  })
})

describe('daylight saving time', () => {
  test.each([
    // Vilnius goes to summer time on 2026-03-29 at 01:00 UTC, and back on 2026-10-25 at 01:00 UTC.
    ['5am (Europe/Vilnius)', '2026-03-28T22:00:00Z', '2026-03-29T02:00'],
    ['5am (Europe/Vilnius)', '2026-03-27T22:00:00Z', '2026-03-28T03:00'],
    ['5am (Europe/Vilnius)', '2026-10-24T20:00:00Z', '2026-10-25T03:00'],
    // 03:30 does not exist in March; in October it comes twice, and the first one counts.
    ['3:30am (Europe/Vilnius)', '2026-03-28T22:00:00Z', '2026-03-29T01:30'],
    ['3:30am (Europe/Vilnius)', '2026-10-24T22:00:00Z', '2026-10-25T00:30'],
    ['Mar 29, 5am (Europe/Vilnius)', '2026-03-25T12:00:00Z', '2026-03-29T02:00'],
  ])('%s, at %s', (text, now, moment) => {
    expect(read(text, now)).toBe(moment)
  })
})

describe('a date is the nearest one', () => {
  const NOW = '2026-11-16T12:00:00Z'
  test.each([
    ['Nov 20, 5pm (UTC)', NOW, '2026-11-20T17:00'],
    ['Nov 20 at 5pm (Europe/Vilnius)', NOW, '2026-11-20T15:00'],
    ['November 20th, 2026 5:00 PM (UTC)', NOW, '2026-11-20T17:00'],
    ['Nov 20, 2026 at 5:15pm (UTC)', NOW, '2026-11-20T17:15'],
    ['Nov 20, 2026, 5pm (UTC)', NOW, '2026-11-20T17:00'],
    ['Jan 2, 5am (UTC)', '2026-12-30T12:00:00Z', '2027-01-02T05:00'],
    ['Dec 31, 11pm (UTC)', '2027-01-01T00:10:00Z', '2026-12-31T23:00'],
    ['Nov 15, 5pm (UTC)', NOW, '2026-11-15T17:00'],
  ])('%s, at %s', (text, now, moment) => {
    expect(read(text, now)).toBe(moment)
  })
})

test('without a known time zone, local time is used', () => {
  const now = new Date(2026, 10, 16, 12)
  const local = new Date(2026, 10, 16, 21).getTime() / 1000
  expect(readResetTime('9pm', now)).toBe(local)
  expect(readResetTime('9pm (Mars/Olympus)', now)).toBe(local)
  expect(readResetTime('Nov 16 at 9pm', now)).toBe(local)
})

test.each([
  ['45 minutes', 45 * 60],
  ['2 hours 13 minutes', (2 * 60 + 13) * 60],
  ['1 day, 1 hour and 1 second', 25 * 3600 + 1],
])('a duration of %s starts now', (text, seconds) => {
  const now = new Date('2026-11-16T12:00:00Z')
  expect(readResetTime(text, now)).toBe(now.getTime() / 1000 + seconds)
})

test.each(['5pm, said the log', 'soon', '', '5', '25pm', '5:60pm', '0am', '24:00', 'Foo 20, 5pm'])(
  '%j is not a time',
  (text) => {
    expect(readResetTime(text, new Date('2026-11-16T12:00:00Z'))).toBeUndefined()
  },
)

test('a time inside a longer text is not a reset time', () => {
  expect(['5pm', 'Nov 20 at 5pm (UTC)', '3 days'].map(isResetTime)).toEqual([true, true, true])
  expect(['5pm or so', 'at 5pm', '5pm (UTC) (x)'].map(isResetTime)).toEqual([false, false, false])
})
