import { expect, test } from 'bun:test'
import { NO_EVENTS, stepAt } from '../events/state.ts'
import type { StepState } from '../events/step-state.ts'
import { failingWords, failureWords, iterations, sourceWords, stepWords } from './words.ts'

const step = (fields: Partial<StepState>): StepState => ({
  ...stepAt(NO_EVENTS, 1),
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

test.each([
  [undefined, 'none'],
  [{ level: 'step' as const }, 'step'],
  [{ level: 'agent default' as const, file: 'prompts/x.md' }, 'agent default, file prompts/x.md'],
])('the source %j is told as %j', (source, words) => {
  expect(sourceWords(source)).toBe(words)
})

test.each<[Partial<StepState>, string]>([
  [{ failures: 2 }, 'In 2 of 2 iterations the agent failed'],
  [
    { failures: 2, lastFailure: { kind: 'exited', code: 3 } },
    'In 2 of 2 iterations the agent failed; the last ended with: exit 3',
  ],
  [
    { failures: 1, iterations: 1, lastFailure: { kind: 'signalled', signal: 'SIGKILL' } },
    'In 1 of 1 iteration the agent failed; the last ended with: killed by SIGKILL',
  ],
])('a loop that failed as %j is told as %j', (fields, words) => {
  expect(failingWords(step(fields))).toBe(words)
})
