import { expect, test } from 'bun:test'
import { DEFAULT_TIMES, mayRetry, pauseAfter } from './limits.ts'

test.each([
  ['transient', true],
  ['lost', true],
  ['fatal', false],
  ['timeout', false],
  ['budget', false],
  ['cancelled', false],
  ['precondition', false],
] as const)('a failure of class %s is retried: %p', (failure, willRetry) => {
  expect(mayRetry(failure, 1, 3)).toBe(willRetry)
})

test('retry=2 allows three attempts', () => {
  expect([1, 2, 3].map((attempt) => mayRetry('lost', attempt, 2))).toEqual([true, true, false])
})

test('the pause doubles up to a limit, and half of it is random', () => {
  expect([1, 2, 3].map((attempt) => pauseAfter(attempt, DEFAULT_TIMES, 1))).toEqual([
    1000, 2000, 4000,
  ])
  expect(pauseAfter(1, DEFAULT_TIMES, 0)).toBe(500)
  expect(pauseAfter(60, DEFAULT_TIMES, 1)).toBe(300_000)
})
