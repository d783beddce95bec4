import { expect, test } from 'bun:test'
import { DEFAULT_POLICY } from '../../chain/plan/policy.ts'
import { describePolicy } from './describe-policy.ts'

test('defaults are not shown', () => {
  expect(describePolicy(DEFAULT_POLICY)).toEqual([])
  expect(describePolicy({})).toEqual([])
})

test('gates, budgets and the action on failure are shown', () => {
  expect(
    describePolicy({
      ...DEFAULT_POLICY,
      when: 'test -e todo',
      verify: ['npm test', 'npm run lint'],
      until: 'make done',
      budget: { costUsd: 5, tokens: 1_000_000, ms: 7_200_000 },
      onFail: { kind: 'goto', step: 1, times: 3 },
    }),
  ).toEqual([
    'when: test -e todo',
    'verify: npm test',
    'verify: npm run lint',
    'until: make done',
    'budget: $5.00, 1.0M tokens, 2 h',
    'on failure: go to step 1, at most 3 times',
  ])
  expect(describePolicy({ onFail: { kind: 'goto', step: 1, times: 1 } })).toEqual([
    'on failure: go to step 1, at most once',
  ])
  expect(describePolicy({ onFail: { kind: 'run', step: 4 } })).toEqual(['on failure: recovery 4'])
  expect(describePolicy({ onFail: { kind: 'continue' } })).toEqual(['on failure: continue'])
})
