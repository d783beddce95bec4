import { expect, test } from 'bun:test'
import { NOTHING_SPENT } from '../../records/events/spent.ts'
import { NO_EVENTS, type RunState } from '../../records/events/state.ts'
import type { EndCause } from '../../records/events/schema.ts'
import type { Plan, StepNode } from '../../chain/plan/plan.ts'
import { DEFAULT_POLICY, type Budget } from '../../chain/plan/policy.ts'
import { endBy, isUsedUp, leftOver, limitsOf } from './budget.ts'

const NOW = 1_000_000

/** The limits after one step has spent this; the run has spent twice as much money. */
function limitsAfter(
  spent: Partial<typeof NOTHING_SPENT>,
  step: Budget,
  run: Budget,
  now = NOW,
): ReturnType<typeof limitsOf> {
  const used = { ...NOTHING_SPENT, ...spent }
  const state: RunState = {
    ...NO_EVENTS,
    clock: NOW,
    spent: { ...used, costUsd: used.costUsd * 2 },
    steps: [{ number: 1, spent: used } as RunState['steps'][number]],
  }
  const node = { number: 1, policy: { ...DEFAULT_POLICY, budget: step } } as StepNode
  return limitsOf(node, { budget: run } as Plan, state, now)
}

const TOKENS = { input: 100, output: 20, cacheRead: 3, cacheWrite: 7 }

test.each<[string, object, Budget, Budget, string | undefined, EndCause?]>([
  ['no limit', { costUsd: 100 }, {}, {}, undefined],
  ['money is left', { costUsd: 1.99 }, { costUsd: 2 }, {}, undefined],
  [
    'money of the step',
    { costUsd: 2.04 },
    { costUsd: 2 },
    {},
    'the step spent: $2.04 of $2.00',
    'cost',
  ],
  ['money of the run', { costUsd: 2 }, {}, { costUsd: 4 }, 'the run spent: $4.00 of $4.00', 'cost'],
  ['tokens are left', { tokens: TOKENS }, { tokens: 131 }, {}, undefined],
  [
    'tokens',
    { tokens: TOKENS },
    { tokens: 130 },
    {},
    'the step spent: 130 of 130 tokens',
    'tokens',
  ],
  ['time', { ms: 60_000 }, {}, { ms: 60_000 }, 'the run spent: 1 min of 1 min', 'time'],
])('a budget ends a step when it is used up: %s', (...row) => {
  const [, spent, step, run, words, cause] = row
  const end = endBy(limitsAfter(spent, step, run).find(isUsedUp))
  const detail = `budget of ${words}`
  expect(end).toEqual(words === undefined ? undefined : { reason: 'budget', detail, cause })
})

test('time since the last event counts', () => {
  const after = (ms: number) => limitsAfter({ ms: 59_000 }, { ms: 60_000 }, {}, NOW + ms)
  expect(after(0).some(isUsedUp)).toBe(false)
  expect(after(1000).some(isUsedUp)).toBe(true)
})

test('an iteration gets what the tightest limits leave', () => {
  const spent = { costUsd: 1, tokens: TOKENS, ms: 5 }
  const limits = limitsAfter(spent, { costUsd: 5, tokens: 200 }, { costUsd: 3, ms: 10 })
  expect(leftOver(limits)).toEqual({ costUsd: 1, tokens: 70, ms: 5 })
  expect(leftOver(limitsAfter(spent, {}, {}))).toEqual({})
})
