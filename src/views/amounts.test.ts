import { expect, test } from 'bun:test'
import { NOTHING_SPENT } from '../records/events/spent.ts'
import { counted, formatMoney, formatTokens } from '../base/amounts.ts'
import { formatDuration } from '../base/durations.ts'
import { formatSpent } from './amounts.ts'

test.each([
  [0, '$0.00'],
  [0.00001, '< $0.0001'],
  [0.0042, '$0.0042'],
  [0.01, '$0.01'],
  [1.234, '$1.23'],
  [1234.5, '$1234.50'],
])('%p dollars are %p', (usd, words) => {
  expect(formatMoney(usd)).toBe(words)
})

test.each([
  [0, '0'],
  [999, '999'],
  [999.6, '1.0k'],
  [12_345, '12.3k'],
  [999_949, '999.9k'],
  [999_950, '1.0M'],
  [12_345_678, '12.3M'],
])('%p tokens are %p', (count, words) => {
  expect(formatTokens(count)).toBe(words)
})

test.each([
  [0, '0 s'],
  [420, '0.4 s'],
  [9949, '9.9 s'],
  [9950, '10 s'],
  [59_499, '59 s'],
  [59_500, '1 min'],
  [303_000, '5 min 03 s'],
  [3_599_600, '1 h'],
  [7_500_000, '2 h 05 min'],
  [26 * 3_600_000, '26 h'],
  [76 * 3_600_000, '3 d 04 h'],
])('%p ms are %p', (ms, words) => {
  expect(formatDuration(ms)).toBe(words)
})

test('singular and plural differ', () => {
  expect([0, 1, 2].map((count) => counted(count, 'run'))).toEqual(['0 runs', '1 run', '2 runs'])
})

test('spent shows only what the agents reported', () => {
  const spent = { ...NOTHING_SPENT, ms: 7_500_000, iterations: 12 }
  expect(formatSpent(spent)).toBe('2 h 05 min, 12 iterations')
  const tokens = { input: 300, output: 20, cacheRead: 12_000, cacheWrite: 25 }
  const full = { ...spent, tokens, costUsd: 1.234 }
  expect(formatSpent(full)).toBe('2 h 05 min, 12 iterations, 12.3k tokens, $1.23')
  expect(formatSpent({ ...full, billing: 'subscription' })).toEndWith('$1.23 (API-equivalent)')
})
