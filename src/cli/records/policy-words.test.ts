import { expect, test } from 'bun:test'
import { DEFAULT_POLICY } from '../../plan/policy.ts'
import { policyWords } from './policy-words.ts'

test('what nobody has set is not told', () => {
  expect(policyWords(DEFAULT_POLICY)).toEqual([])
  expect(policyWords({})).toEqual([])
})

test('gates, budgets and what happens on failure are told', () => {
  expect(
    policyWords({
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
    'on failure: back to step 1, at most 3 times',
  ])
  expect(policyWords({ onFail: { kind: 'run', step: 4 } })).toEqual(['on failure: recovery 4'])
  expect(policyWords({ onFail: { kind: 'continue' } })).toEqual(['on failure: the run goes on'])
})
