import { expect, test } from 'bun:test'
import { NOTHING_SPENT } from '../../records/events/spent.ts'
import { NO_EVENTS, type RunState } from '../../records/events/state.ts'
import type { Plan, StepNode } from '../../chain/plan/plan.ts'
import { DEFAULT_POLICY, type Budget } from '../../chain/plan/policy.ts'
import { leftOver, spentBudget } from './budget.ts'

const NOW = 1_000_000

function situation(step: Budget, run: Budget, spent: Partial<typeof NOTHING_SPENT>) {
  const used = { ...NOTHING_SPENT, ...spent }
  const [state] = [NO_EVENTS].map((empty): RunState => ({
    ...empty,
    clock: NOW,
    spent: { ...used, costUsd: used.costUsd * 2 },
    steps: [{ number: 1, spent: used } as RunState['steps'][number]],
  }))
  const node = { number: 1, policy: { ...DEFAULT_POLICY, budget: step } } as StepNode
  return [node, { budget: run } as Plan, state!] as const
}

const TOKENS = { input: 100, output: 20, cacheRead: 3, cacheWrite: 7 }

test.each<[string, Budget, Budget, object, string | undefined]>([
  ['nothing limits it', {}, {}, { costUsd: 100 }, undefined],
  ['money is left', { costUsd: 2 }, {}, { costUsd: 1.99 }, undefined],
  [
    'money is spent',
    { costUsd: 2 },
    {},
    { costUsd: 2.04 },
    'budget of the step spent: $2.04 of $2.00',
  ],
  [
    'the run has spent its money',
    {},
    { costUsd: 4 },
    { costUsd: 2 },
    'budget of the run spent: $4.00 of $4.00',
  ],
  ['tokens are left', { tokens: 131 }, {}, { tokens: TOKENS }, undefined],
  [
    'tokens are spent',
    { tokens: 130 },
    {},
    { tokens: TOKENS },
    'budget of the step spent: 130 of 130 tokens',
  ],
  [
    'the time is used up',
    {},
    { ms: 60_000 },
    { ms: 60_000 },
    'budget of the run spent: 1 min of 1 min',
  ],
])('%s', (_, step, run, spent, detail) => {
  const end = spentBudget(...situation(step, run, spent), NOW)
  expect(end).toEqual(detail === undefined ? undefined : { reason: 'budget', detail })
})

test('time between events counts', () => {
  const later = situation({ ms: 60_000 }, {}, { ms: 59_000 })
  expect(spentBudget(...later, NOW)).toBeUndefined()
  expect(spentBudget(...later, NOW + 1000)).toMatchObject({ reason: 'budget' })
})

test('an iteration gets what the tightest budget has left', () => {
  const spent = { costUsd: 1, tokens: TOKENS, ms: 5 }
  expect(
    leftOver(...situation({ costUsd: 5, tokens: 200 }, { costUsd: 3, ms: 10 }, spent), NOW),
  ).toEqual({
    costUsd: 1,
    tokens: 70,
    ms: 5,
  })
  expect(leftOver(...situation({}, {}, spent), NOW)).toEqual({})
})
