import { expect, test } from 'bun:test'
import type { StepState } from '../events/state.ts'
import { failureWords, iterations, stepWords } from './words.ts'

const step = (fields: Partial<StepState>): StepState => ({
  number: 1,
  agent: 'a',
  iterations: 2,
  ...fields,
})

test('iterations are counted in words', () => {
  expect([0, 1, 2].map(iterations)).toEqual(['0 iterations', '1 iteration', '2 iterations'])
})

test.each<[Partial<StepState>, string]>([
  [{ reason: 'marker', maxIterations: 3 }, 'complete (2/3 iterations, marker)'],
  [{ reason: 'marker', maxIterations: 1, iterations: 1 }, 'complete (1/1 iteration, marker)'],
  [{ reason: 'single_run' }, 'complete (exit 0)'],
  [
    { reason: 'max_iterations', maxIterations: 2 },
    'incomplete (2/2 iterations, max iterations reached)',
  ],
  [{ reason: 'agent_failed', detail: 'exit 3' }, 'incomplete (exit 3)'],
  [
    { reason: 'error', detail: 'no such file', maxIterations: 5 },
    'incomplete (2/5 iterations, no such file)',
  ],
  [
    { reason: 'interrupted', detail: 'interrupted by SIGINT' },
    'incomplete (interrupted by SIGINT)',
  ],
  [{ reason: 'skipped' }, 'skipped'],
  [{}, 'skipped'],
])('a step that ended as %j is called so', (fields, words) => {
  expect(stepWords(step(fields))).toBe(words)
})

test.each<[Partial<StepState>, string]>([
  [
    { reason: 'max_iterations', maxIterations: 10, iterations: 10 },
    'max iterations reached, 10/10',
  ],
  [{ reason: 'agent_failed', detail: 'exit 3' }, 'exit 3'],
  [{ reason: 'interrupted' }, 'interrupted'],
])('the failure %j is told as %j', (fields, words) => {
  expect(failureWords(step(fields))).toBe(words)
})
