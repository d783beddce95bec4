import { describe, expect, test } from 'bun:test'
import { parseDuration } from './durations.ts'
import { UserError } from './errors.ts'

describe('parseDuration', () => {
  test.each([
    ['250ms', 250],
    ['90s', 90_000],
    ['30m', 1_800_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['1h30m', 5_400_000],
    ['1m500ms', 60_500],
    ['1.5h', 5_400_000],
    [' 2h ', 7_200_000],
    ['0s', 0],
  ])('reads %j', (text, expected) => {
    expect(parseDuration(text, '--lease')).toBe(expected)
  })

  test.each([
    '',
    ' ',
    '2',
    'h',
    '2 h',
    '1h 30m',
    '-1h',
    '+1h',
    '1e3s',
    '2H',
    '2w',
    '1.5.5h',
    '.5h',
    '2h!',
  ])('refuses %j', (text) => {
    expect(() => parseDuration(text, '--lease')).toThrow(
      new UserError(`--lease is '${text}', expected a duration.`),
    )
  })
})
