import { expect, test } from 'bun:test'
import { NO_EVENTS, stepAt } from '../records/events/state.ts'
import type { StepState } from '../records/events/step-state.ts'
import { describeFailing, describeFailure, describeSource, describeStep } from './describe.ts'

const step = (fields: Partial<StepState>): StepState => ({
  ...stepAt(NO_EVENTS, { id: 's1', number: 1 }),
  agent: 'a',
  iterations: 2,
  ...fields,
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
  [{ reason: 'skipped' }, 'not started'],
  [{}, 'not started'],
])('a step that ended as %j is described', (fields, words) => {
  expect(describeStep(step(fields))).toBe(words)
})

test.each<[Partial<StepState>, string]>([
  [
    { reason: 'max_iterations', maxIterations: 10, iterations: 10 },
    'max iterations reached, 10/10',
  ],
  [{ reason: 'agent_failed', detail: 'exit 3' }, 'exit 3'],
  [{ reason: 'interrupted' }, 'interrupted'],
])('the failure %j is shown as %j', (fields, words) => {
  expect(describeFailure(step(fields))).toBe(words)
})

test.each([
  [undefined, 'none'],
  [{ level: 'step' as const }, 'step'],
  [{ level: 'agent default' as const, file: 'prompts/x.md' }, 'agent default, file prompts/x.md'],
])('the source %j is shown as %j', (source, words) => {
  expect(describeSource(source)).toBe(words)
})

test.each<[Partial<StepState>, string]>([
  [{ failures: 2 }, 'The agent failed in 2 of 2 iterations'],
  [
    { failures: 2, lastFailure: { kind: 'exited', code: 3 } },
    'The agent failed in 2 of 2 iterations; last failure: exit 3',
  ],
  [
    { failures: 1, iterations: 1, lastFailure: { kind: 'signalled', signal: 'SIGKILL' } },
    'The agent failed in 1 of 1 iteration; last failure: killed by SIGKILL',
  ],
])('a loop that failed as %j is shown as %j', (fields, words) => {
  expect(describeFailing(step(fields))).toBe(words)
})
