import { expect, test } from 'bun:test'
import type { EventBody } from './event.ts'
import type { Reason } from './schema.ts'
import { isComplete, next, NO_EVENTS } from './state.ts'

const STARTED: EventBody = {
  type: 'run_started',
  schema: 1,
  version: '1',
  pid: 1,
  cwd: '/project',
  record: '/record',
  steps: [
    { step: 1, agent: 'a', maxIterations: 3 },
    { step: 2, agent: 'b' },
  ],
  plan: {},
}

const at = (step: number, iteration: number) => ({ scope: [], step, iteration, attempt: 1 })
const outcome = { kind: 'exited', code: 1 } as const

const fold = (events: readonly EventBody[]) => events.reduce(next, NO_EVENTS)

test('before the first event nothing is known', () => {
  expect(NO_EVENTS).toEqual({ steps: [] })
})

test('a run that has started knows its steps and its record', () => {
  expect(fold([STARTED])).toEqual({
    record: '/record',
    steps: [
      { number: 1, agent: 'a', maxIterations: 3, iterations: 0 },
      { number: 2, agent: 'b', iterations: 0 },
    ],
  })
})

test('a run without a record has none', () => {
  const { record: _, ...started } = STARTED as EventBody & { type: 'run_started' }
  expect(fold([started])).not.toContainKey('record')
})

test('the state follows a run from its start to its end', () => {
  const ended = { ok: false, exitCode: 1, leftovers: [{ pid: 5, command: 'sleep' }] }
  const step = { type: 'step_ended' as const, scope: [] }
  const events: EventBody[] = [
    STARTED,
    { type: 'step_started', scope: [], step: 1, agent: 'a', maxIterations: 3 },
    { type: 'iteration_started', ...at(1, 1), pid: 2 },
    { type: 'iteration_ended', ...at(1, 1), outcome, ms: 1, outputBytes: 0 },
    { type: 'iteration_started', ...at(1, 2), pid: 3 },
    { type: 'iteration_ended', ...at(1, 2), outcome: { kind: 'marker' }, ms: 1, outputBytes: 0 },
    { ...step, step: 1, agent: 'a', reason: 'marker', iterations: 2, failures: 1 },
    { type: 'iteration_started', ...at(2, 1), pid: 4 },
    { type: 'iteration_ended', ...at(2, 1), outcome, ms: 1, outputBytes: 0 },
    {
      ...step,
      step: 2,
      agent: 'b',
      reason: 'agent_failed',
      iterations: 1,
      failures: 1,
      detail: 'exit 1',
    },
    { type: 'run_ended', ...ended },
  ]
  expect(fold(events)).toEqual({
    record: '/record',
    steps: [
      {
        number: 1,
        agent: 'a',
        maxIterations: 3,
        iterations: 2,
        lastOutcome: { kind: 'marker' },
        reason: 'marker',
        failures: 1,
      },
      {
        number: 2,
        agent: 'b',
        iterations: 1,
        lastOutcome: outcome,
        reason: 'agent_failed',
        detail: 'exit 1',
        failures: 1,
      },
    ],
    ended: { ...ended, stopped: undefined },
  })
})

test('an iteration is running from its start to its end', () => {
  const begun = fold([STARTED, { type: 'iteration_started', ...at(1, 2), attempt: 3, pid: 7 }])
  expect(begun.steps[0]).toMatchObject({ running: { iteration: 2, attempt: 3, pid: 7 } })
  expect(begun.steps[1]!.running).toBeUndefined()
  const over: EventBody = { type: 'iteration_ended', ...at(1, 2), outcome, ms: 1, outputBytes: 0 }
  expect(next(begun, over).steps[0]!.running).toBeUndefined()
})

test('a run that was stopped knows by what, in words', () => {
  const stopped = { signal: 'SIGINT', words: 'interrupted by SIGINT' } as const
  const ended: EventBody = { type: 'run_ended', ok: false, exitCode: 130, stopped, leftovers: [] }
  expect(fold([STARTED, ended]).ended?.stopped).toBe('interrupted by SIGINT')
})

test('a record that was lost is not there any more', () => {
  expect(fold([STARTED, { type: 'record_lost', why: 'x' }])).not.toContainKey('record')
})

test.each<[string, EventBody]>([
  ['step_started', { type: 'step_started', scope: [], step: 1, agent: 'a' }],
  ['output', { type: 'output', ...at(1, 1), stream: 'out', text: 'x' }],
  ['marker_refused', { type: 'marker_refused', ...at(1, 1), why: 'quotes' }],
  ['warning', { type: 'warning', text: 'x' }],
  ['dry_run', { type: 'dry_run', steps: [] }],
  ['run_refused', { type: 'run_refused', exitCode: 2, message: 'x' }],
])('%s changes nothing', (_, event) => {
  const state = fold([STARTED])
  expect(next(state, event)).toBe(state)
})

test('a state that was handed out is never changed afterwards', () => {
  const state = fold([STARTED])
  const before = structuredClone(state)
  next(state, { type: 'iteration_started', ...at(1, 1) })
  next(state, { type: 'run_ended', ok: true, exitCode: 0, leftovers: [] })
  expect(state).toEqual(before)
})

test('an event about a step that is not there is no crash', () => {
  expect(fold([{ type: 'iteration_started', ...at(9, 1) }])).toEqual(NO_EVENTS)
})

test('an event of an unknown type is a bug', () => {
  expect(() => next(NO_EVENTS, { type: 'new' } as never)).toThrow('not handled')
})

test.each<[Reason | undefined, boolean]>([
  ['marker', true],
  ['single_run', true],
  ['max_iterations', false],
  ['agent_failed', false],
  ['error', false],
  ['interrupted', false],
  ['skipped', false],
  [undefined, false],
])('a step that ended with %p is complete: %p', (reason, complete) => {
  expect(isComplete(reason)).toBe(complete)
})
