import { expect, test } from 'bun:test'
import { afterAwake, AwakeClock } from './awake.ts'

const HOUR = 3_600_000
const TICK_MS = 500

/** The clock of a simulated machine, which runs for a second before and after an event. */
function after(happen: { timeMs: number; passedMs: number }) {
  let [time, passed] = [Date.parse('2026-01-20T22:00:00Z'), 5000]
  const clock = new AwakeClock({ time: () => time, passed: () => passed })
  const pass = (timeMs: number, passedMs: number) => {
    time += timeMs
    passed += passedMs
    clock.ms()
  }
  const run = () => [1, 2].forEach(() => pass(TICK_MS, TICK_MS))
  run()
  pass(happen.timeMs, happen.passedMs)
  run()
  return { ms: clock.ms(), skippedMs: clock.skippedMs() }
}

test.each([
  ['nothing happens', 0, 0, 0],
  ['the process is stopped', 8 * HOUR, 8 * HOUR, 8 * HOUR],
  ['the machine sleeps, and only the time of day advances', 8 * HOUR, 0, 8 * HOUR],
  ['the clock is set back', -HOUR, 0, -HOUR],
  ['the clock is set forward', HOUR, 0, HOUR],
  ['the clock is corrected by less than a second', 900, 0, 0],
])('two seconds are measured as two seconds if %s', (_, timeMs, passedMs, skippedMs) => {
  expect(after({ timeMs, passedMs })).toEqual({ ms: 2000, skippedMs })
})

test('a busy second is not a gap', () => {
  expect(after({ timeMs: 1400, passedMs: 1400 })).toEqual({ ms: 3400, skippedMs: 0 })
})

test('a time that is already over is not a mistake of the program', async () => {
  const warnings: string[] = []
  const note = ({ name }: Error) => warnings.push(name)
  process.on('warning', note)
  const { promise, resolve } = Promise.withResolvers<void>()
  afterAwake(-0.1, resolve)
  await promise
  process.off('warning', note)
  expect(warnings).toEqual([])
})
