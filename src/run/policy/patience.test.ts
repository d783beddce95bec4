import { expect, test } from 'bun:test'
import type { Outcome } from '../../records/events/schema.ts'
import { DEFAULT_POLICY, type Policy } from '../../chain/plan/policy.ts'
import { Patience, type Pause } from './patience.ts'

const NOW = Date.parse('2026-01-20T10:00:00Z')
const MINUTE = 60_000

const patience = (policy: Partial<Policy> = {}) => new Patience({ ...DEFAULT_POLICY, ...policy })
const limited = (inMs: number): Outcome => ({
  kind: 'rate_limited',
  error: 'the limit',
  resetsAt: (NOW + inMs) / 1000,
})
const LIMITED: Outcome = { kind: 'rate_limited', error: 'the limit' }
const OVERLOADED: Outcome = { kind: 'overloaded', error: '529' }
const OK: Outcome = { kind: 'exited', code: 0 }

function pause(value: ReturnType<Patience['after']>): Pause {
  if (value === undefined || 'reason' in value) throw new Error(JSON.stringify(value))
  return value
}

test('a wait lasts until the reset and slightly longer', () => {
  for (let count = 0; count < 100; count += 1) {
    const { why, until, error } = pause(patience().after(limited(40 * MINUTE), NOW))
    expect([why, error]).toEqual(['quota', 'the limit'])
    expect(until).toBeGreaterThanOrEqual(NOW + 40 * MINUTE)
    expect(until).toBeLessThanOrEqual(NOW + 41 * MINUTE)
  }
})

test('a limit beyond maxWait ends the step', () => {
  const end = patience({ maxWaitMs: 30 * MINUTE }).after(limited(40 * MINUTE), NOW)
  expect(end).toEqual({
    reason: 'quota',
    detail: 'the limit resets at 2026-01-20 10:40: waiting would exceed the maxWait of 30 min',
  })
})

test.each([
  [LIMITED, [60, 120, 240, 480, 960]],
  [limited(-MINUTE), [10, 20, 40, 80, 160, 320, 640, 1280]],
])(
  'a limit that does not say when it is over (%j) is asked again less and less often, not for ever',
  (outcome, seconds) => {
    const tried = patience({ maxWaitMs: 60 * MINUTE })
    const waits: number[] = []
    let now = NOW
    for (;;) {
      const next = tried.after(outcome, now)
      if (next !== undefined && 'reason' in next) {
        expect(next.reason).toBe('quota')
        break
      }
      const { until } = pause(next)
      waits.push(until - now)
      now = until
      tried.waited(now)
    }
    waits.forEach((ms, index) => {
      expect(ms / 1000).toBeGreaterThanOrEqual(seconds[index]!)
      expect(ms / 1000).toBeLessThanOrEqual(seconds[index]! * 1.06)
    })
    expect(waits).toHaveLength(seconds.length)
  },
)

const limitAt = (now: number, inMs: number): Outcome => ({
  kind: 'rate_limited',
  error: 'the limit',
  resetsAt: (now + inMs) / 1000,
})

test('a limit that is always about to reset is asked again less and less often', () => {
  const tried = patience()
  let now = NOW
  const waits = Array.from({ length: 5 }, () => {
    const { until } = pause(tried.after(limitAt(now, 1000), now))
    const ms = until - now
    now = until
    tried.waited(now)
    return ms / 1000
  })
  const seconds = [1, 10, 20, 40, 80]
  waits.forEach((wait, index) => {
    expect(wait).toBeGreaterThanOrEqual(seconds[index]!)
    expect(wait).toBeLessThanOrEqual(seconds[index]! * 1.06)
  })
})

test('waits add up, unless there was work in between', () => {
  const tried = patience({ maxWaitMs: 10 * MINUTE })
  pause(tried.after(limitAt(NOW, 6 * MINUTE), NOW))
  let now = NOW + 6 * MINUTE
  tried.waited(now)
  expect(tried.after(limitAt(now + 1000, 6 * MINUTE), now + 1000)).toEqual({
    reason: 'quota',
    detail:
      'the limit resets at 2026-01-20 10:12: waiting would exceed the maxWait of 10 min (6 min waited already)',
  })
  const other = patience({ maxWaitMs: 10 * MINUTE })
  for (let count = 0; count < 20; count += 1) {
    now = pause(other.after(limitAt(now, 6 * MINUTE), now)).until
    other.waited(now)
    now += 5 * MINUTE
  }
})

test('a wait that was cut short counts with its real length', () => {
  const tried = patience()
  let now = NOW
  for (let count = 0; count < 5; count += 1) {
    pause(tried.after(limitAt(now, 230 * MINUTE), now))
    tried.waited((now += MINUTE))
    // Refused at once, or after work of 63 s.
    now += count % 2 === 0 ? 100 : 63_000
  }
})

test('a reset time in the past is reported as such', () => {
  const tried = patience({ maxWaitMs: 5000 })
  expect(tried.after(limited(-MINUTE), NOW)).toEqual({
    reason: 'quota',
    detail:
      'the limit should have reset at 2026-01-20 09:59 but is still in effect: waiting would exceed the maxWait of 5 s',
  })
})

test('temporary failures are retried with growing pauses', () => {
  const tried = patience()
  const waits = [1, 2, 3, 4, 5, 6, 7, 8].map(() => pause(tried.after(OVERLOADED, NOW)).until - NOW)
  const most = [10, 20, 40, 80, 160, 320, 600, 600].map((seconds) => seconds * 1000)
  waits.forEach((ms, index) => {
    expect(ms).toBeGreaterThanOrEqual(most[index]! / 2)
    expect(ms).toBeLessThanOrEqual(most[index]!)
  })
})

/** Fails after so much work each time, until it is enough; the minutes that were waited in all. */
function waitedMinutes(tried: Patience, workMs: number): number {
  let [now, waitedMs] = [NOW, 0]
  for (let count = 0; count < 200; count += 1) {
    const next = tried.after(OVERLOADED, (now += workMs))
    if (next !== undefined && 'reason' in next) return waitedMs / MINUTE
    waitedMs += pause(next).until - now
    tried.waited((now = pause(next).until))
  }
  return Infinity
}

test('after the retry time or the attempts the agent has failed', () => {
  const minutes = waitedMinutes(patience(), 100)
  expect(minutes).toBeGreaterThan(109)
  expect(minutes).toBeLessThanOrEqual(120)
  const often = patience({ retry: { attempts: 3, backoffMs: 1, maxBackoffMs: 1 } })
  pause(often.after(OVERLOADED, NOW))
  pause(often.after(OVERLOADED, NOW))
  expect(often.after(OVERLOADED, NOW)).toEqual({
    reason: 'agent_failed',
    detail: 'temporarily unavailable: 529 (3 tries)',
  })
})

test('only waits use up the retry time, and longer work resets it', () => {
  // A CLI that asks for minutes itself does not work.
  expect(waitedMinutes(patience(), 3 * MINUTE)).toBeLessThanOrEqual(120)
  expect(waitedMinutes(patience(), 60 * MINUTE)).toBe(Infinity)
})

test('waiting for a limit is not a failed attempt', () => {
  const retry = { forMs: 3000, backoffMs: 500, maxBackoffMs: 500 }
  const tried = patience({ retry })
  tried.waited(pause(tried.after(OVERLOADED, NOW)).until)
  tried.waited(pause(tried.after(limited(5000), NOW + 1000)).until)
  expect(pause(tried.after(OVERLOADED, NOW + 7000)).why).toBe('retry')
})

test('alternating limits and failures come to an end', () => {
  const tried = patience({ maxWaitMs: 30 * MINUTE })
  let now = NOW
  for (let count = 0; count < 100; count += 1) {
    const next = tried.after(count % 2 === 0 ? LIMITED : OVERLOADED, now)
    if (next !== undefined && 'reason' in next) return
    tried.waited((now = pause(next).until))
  }
  throw new Error('it goes on')
})

test('an iteration that worked resets the count', () => {
  const tried = patience({ retry: { attempts: 2, backoffMs: 1, maxBackoffMs: 1 } })
  for (let count = 0; count < 5; count += 1) {
    pause(tried.after(OVERLOADED, NOW))
    expect(tried.after(OK, NOW)).toBeUndefined()
  }
})
