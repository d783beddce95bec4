import { expect, test } from 'bun:test'
import { Watch } from './waiting.ts'

const HOUR = 3_600_000

/** A wait of two hours; what is left of it once the clocks have gone on by so much. */
function restAfter(timeMs: number, passedMs: number): number {
  let [time, passed] = [Date.parse('2026-01-20T10:00:00Z'), 5000]
  const watch = new Watch(time + 2 * HOUR, { time: () => time, passed: () => passed })
  time += timeMs
  passed += passedMs
  return watch.restMs()
}

test.each([
  ['both clocks agree', HOUR, HOUR, HOUR],
  ['the clock is set back by five hours', -4 * HOUR, HOUR, HOUR],
  ['the machine sleeps for an hour', 1.5 * HOUR, HOUR / 2, HOUR / 2],
  ['it is over', 2 * HOUR, 2 * HOUR, 0],
])('a wait is not prolonged if %s', (_, timeMs, passedMs, rest) => {
  expect(restAfter(timeMs, passedMs)).toBe(rest)
})
