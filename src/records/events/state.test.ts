import { describe, expect, test } from 'bun:test'
import type { EventBody } from './event.ts'
import type { Reason } from './schema.ts'
import { NOTHING_SPENT } from './spent.ts'
import { next } from './fold.ts'
import { NO_EVENTS } from './state.ts'
import { isComplete } from './step-state.ts'

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

test('the state before the first event is empty', () => {
  expect(NO_EVENTS).toEqual({ steps: [], at: 1, spent: NOTHING_SPENT })
})

test('a run that has started knows its steps and its record', () => {
  expect(fold([STARTED])).toMatchObject({
    record: '/record',
    at: 1,
    steps: [
      { number: 1, agent: 'a', maxIterations: 3, iterations: 0, isOpen: false },
      { number: 2, agent: 'b', iterations: 0, isOpen: false },
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
  expect(fold(events)).toMatchObject({
    record: '/record',
    at: 2,
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
  expect(begun.steps[0]).toMatchObject({ attempt: 3, running: { iteration: 2, pid: 7 } })
  expect(begun.steps[1]!.running).toBeUndefined()
  const over: EventBody = { type: 'iteration_ended', ...at(1, 2), outcome, ms: 1, outputBytes: 0 }
  expect(next(begun, over).steps[0]!.running).toBeUndefined()
})

test('a stopped run says what stopped it', () => {
  const stopped = { signal: 'SIGINT', words: 'interrupted by SIGINT' } as const
  const ended: EventBody = { type: 'run_ended', ok: false, exitCode: 130, stopped, leftovers: [] }
  expect(fold([STARTED, ended]).ended?.stopped).toBe('interrupted by SIGINT')
})

test('a lost record is removed from the state', () => {
  expect(fold([STARTED, { type: 'record_lost', why: 'x' }])).not.toContainKey('record')
})

test.each<[string, EventBody]>([
  ['output', { type: 'output', ...at(1, 1), stream: 'out', text: 'x' }],
  ['marker_refused', { type: 'marker_refused', ...at(1, 1), why: 'quotes' }],
  ['warning', { type: 'warning', text: 'x' }],
  ['dry_run', { type: 'dry_run', steps: [] }],
  ['run_refused', { type: 'run_refused', exitCode: 2, message: 'x' }],
])('%s changes nothing', (_, event) => {
  const state = fold([STARTED])
  expect(next(state, event)).toBe(state)
})

const STAMP = { run: 'r', worker: 'w' }
const time = (second: number) => ({ ...STAMP, at: new Date(second * 1000).toISOString() })
const ended = (fields: object): EventBody => ({
  type: 'iteration_ended',
  ...at(1, 1),
  outcome,
  ms: 1,
  outputBytes: 0,
  ...fields,
})
const stepEnded = (step: number, reason: Reason): EventBody => ({
  type: 'step_ended',
  scope: [],
  step,
  agent: 'a',
  reason,
  iterations: 1,
  failures: 0,
})
const OPEN: readonly EventBody[] = [
  STARTED,
  { type: 'step_started', scope: [], step: 1, agent: 'a', maxIterations: 3 },
  { type: 'iteration_started', ...at(1, 1), pid: 2 },
]

test('an iteration that does not count is repeated, and its usage is added', () => {
  const limited = { kind: 'rate_limited', error: 'later', resetsAt: 9 } as const
  const usage = { costUsd: 0.5, tokens: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 } }
  const state = fold([...OPEN, ended({ outcome: limited, again: true, usage })])
  expect(state.steps[0]).toMatchObject({ iterations: 1, isAgain: true, failures: 0 })
  expect(state.spent).toMatchObject({ ...usage, iterations: 0 })
  expect(state.steps[0]!.spent).toEqual(state.spent)
})

test('time counts while the run is active, for the open step', () => {
  const [started, step, iteration] = OPEN
  const events = [
    { ...started!, ...time(0) },
    { ...step!, ...time(1) },
    { ...iteration!, ...time(2) },
    { type: 'run_resumed' as const, version: '1', pid: 3, ...time(1000) },
    { ...ended({}), ...time(1005) },
  ]
  const state = events.reduce(next, NO_EVENTS)
  expect([state.spent.ms, state.steps[0]!.spent.ms]).toEqual([7000, 6000])
})

test('a warning before the resume does not count the time of a killed process again', () => {
  const state = [
    { ...STARTED, at: '2026-01-01T00:00:00Z' },
    { type: 'warning', text: 'killed leftovers', at: '2026-01-01T00:00:10Z' },
    { type: 'run_resumed', version: '1', pid: 2, lostMs: 8000, at: '2026-01-01T00:00:10Z' },
  ].reduce((before, event) => next(before, event as EventBody), NO_EVENTS)
  expect(state.spent.ms).toBe(8000)
})

test('a resumed run opens the step that ended it', () => {
  const over: readonly EventBody[] = [
    ended({ ends: { reason: 'stalled' } }),
    stepEnded(1, 'stalled'),
    stepEnded(2, 'skipped'),
    { type: 'run_ended', ok: false, exitCode: 1, leftovers: [] },
  ]
  const resumed: EventBody = { type: 'run_resumed', version: '1', pid: 3 }
  const state = fold([...OPEN, ...over, resumed])
  expect(state).toMatchObject({ at: 1 })
  expect(state).not.toContainKey('ended')
  expect(state.steps[0]).toMatchObject({
    isOpen: true,
    reason: undefined,
    ends: undefined,
    idle: 0,
  })
  expect(state.steps[1]).toMatchObject({ isOpen: false, reason: undefined })
})

test('a run that was killed after a failure still has to handle it', () => {
  const resumed: EventBody = { type: 'run_resumed', version: '1', pid: 3 }
  const state = fold([...OPEN, ended({}), stepEnded(1, 'max_iterations'), resumed])
  expect(state.steps[0]).toMatchObject({ isOpen: false, reason: 'max_iterations' })
})

describe('branches of a run that was killed', () => {
  const started: EventBody = {
    ...(STARTED as EventBody & { type: 'run_started' }),
    steps: [
      { step: 1, agent: 'a', within: 'g1' },
      { step: 2, agent: 'b', maxIterations: 1, within: 'g1' },
      { step: 3, agent: 'c', within: 'g1' },
    ],
    groups: [{ id: 'g1', kind: 'parallel', first: 1, last: 3 }],
  }
  const inGroup = (step: number) => ({ scope: ['g1', `s${step}`], step, agent: 'a' })
  const cutOff: readonly EventBody[] = [
    started,
    { type: 'group_started', scope: ['g1'], group: 'g1', round: 1 },
    { type: 'step_started', ...inGroup(1) },
    { type: 'step_started', ...inGroup(2), maxIterations: 1 },
    { type: 'step_started', ...inGroup(3) },
    { type: 'iteration_started', ...inGroup(2), iteration: 1, attempt: 1, pid: 2 },
  ]
  const end = (step: number, reason: Reason, passed = false): EventBody => {
    const counts = { iterations: 1, failures: 0, spent: NOTHING_SPENT }
    return { type: 'step_ended', ...inGroup(step), reason, ...counts, ...(passed && { passed }) }
  }
  const resumed: EventBody = { type: 'run_resumed', version: '1', pid: 3 }

  test('repeat the iteration that was cut off, and nothing that had ended', () => {
    const state = fold([...cutOff, end(1, 'skipped', true), end(3, 'blocked'), resumed])
    expect(state.steps).toMatchObject([
      { reason: 'skipped', isPassed: true },
      { isOpen: true, iterations: 1, running: { iteration: 1 } },
      { isOpen: false, reason: 'blocked' },
    ])
  })

  test('repeat it also if others had been interrupted before', () => {
    const state = fold([...cutOff, end(1, 'interrupted'), resumed])
    expect(state.steps[1]).toMatchObject({ isOpen: true, running: { iteration: 1 } })
  })
})

describe('a run that was stopped', () => {
  const over: EventBody = { type: 'run_ended', ok: false, exitCode: 130, leftovers: [] }
  const resumed: EventBody = { type: 'run_resumed', version: '1', pid: 3 }

  test('does not repeat an iteration that had ended its step', () => {
    const done = [ended({ ends: { reason: 'marker' } }), stepEnded(1, 'interrupted')]
    const state = fold([...OPEN, ...done, stepEnded(2, 'skipped'), over, resumed])
    expect(state.steps[0]).toMatchObject({ isOpen: true, ends: { reason: 'marker' } })
  })

  test.each([
    ['the same', true, 2],
    ['the next', false, 1],
  ])('continues with %s alternative of a fallback', (_, hasBegun, place) => {
    const counts = { agent: 'a', iterations: 1, failures: 1, spent: NOTHING_SPENT }
    const first = { scope: ['g1', 's1'], step: 1 }
    const second = { scope: ['g1', 'g2', 's2'], step: 2 }
    const begun: EventBody = { type: 'group_started', scope: ['g1', 'g2'], group: 'g2', round: 1 }
    const state = fold([
      {
        ...(STARTED as EventBody & { type: 'run_started' }),
        steps: [
          { step: 1, agent: 'a', within: 'g1' },
          { step: 2, agent: 'b', within: 'g2' },
        ],
        groups: [
          { id: 'g1', kind: 'fallback', first: 1, last: 2 },
          { id: 'g2', kind: 'sequence', first: 2, last: 2, within: 'g1' },
        ],
      },
      { type: 'group_started', scope: ['g1'], group: 'g1', round: 1 },
      { type: 'step_started', ...first, agent: 'a' },
      { type: 'step_ended', ...first, ...counts, reason: 'agent_failed' },
      ...(hasBegun ? [begun] : []),
      { type: 'step_ended', ...second, ...counts, reason: 'skipped' },
      over,
      resumed,
    ])
    expect(state.groups?.[0]).toMatchObject({ key: 'g1', at: place })
    expect(state.steps[0]).toMatchObject({ isOpen: false, reason: 'agent_failed' })
  })
})

test('a jump leads to another step, which starts over', () => {
  const state = fold([
    ...OPEN,
    ended({ feedback: 'mend it' }),
    stepEnded(1, 'marker'),
    { type: 'jump', scope: [], step: 2, to: 1, count: 1, times: 2 },
    { type: 'step_started', scope: [], step: 1, agent: 'a', round: 2 },
  ])
  expect(state.at).toBe(1)
  expect(state.steps[0]).toMatchObject({
    rounds: 2,
    iterations: 0,
    isOpen: true,
    feedback: undefined,
  })
  expect(state.steps[1]!.jumps).toBe(1)
})

test('a state that was handed out is never changed afterwards', () => {
  const state = fold([STARTED])
  const before = structuredClone(state)
  next(state, { type: 'iteration_started', ...at(1, 1) })
  next(state, { type: 'run_ended', ok: true, exitCode: 0, leftovers: [] })
  expect(state).toEqual(before)
})

test('an event of an unknown step is ignored', () => {
  expect(fold([{ type: 'iteration_started', ...at(9, 1) }])).toEqual(NO_EVENTS)
})

test('an event of an unknown type, as a later version may write it, changes nothing', () => {
  expect(next(NO_EVENTS, { type: 'new' } as never)).toBe(NO_EVENTS)
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

test('the usage of a sub-agent counts for its step and the run, but not as an iteration', () => {
  const done = { success: true, ms: 5, outputBytes: 0, usage: { costUsd: 0.5 } }
  const state = fold([STARTED, { type: 'task_ended', ...at(1, 1), task: 't', id: 'x', ...done }])
  expect(state.spent).toMatchObject({ costUsd: 0.5, iterations: 0 })
  expect(state.steps[0]?.spent).toMatchObject({ costUsd: 0.5, iterations: 0 })
})

test('a step stays set up in later rounds', () => {
  const none = { pushed: [], started: [], held: 0 }
  const begun: EventBody = { type: 'step_started', scope: ['s1'], step: 1, agent: 'a' }
  const setUp: EventBody = { type: 'phase_ended', scope: ['s1'], step: 1, phase: 'setup', ...none }
  expect(fold([STARTED, begun]).steps[0]?.isSetUp).toBe(false)
  expect(fold([STARTED, begun, setUp]).steps[0]?.isSetUp).toBe(true)
  expect(fold([STARTED, begun, setUp, { ...begun, round: 2 }]).steps[0]?.isSetUp).toBe(true)
})

test.each([
  ['forkhestra was stopped for an hour', '2026-01-20T11:00:02Z', 3_600_000],
  ['the clock was set back by an hour', '2026-01-20T09:00:02Z', -3_600_000],
])('only the time in which forkhestra ran is spent where %s', (_, then, skippedMs) => {
  const events = [
    { ...STARTED, at: '2026-01-20T10:00:00Z' },
    { type: 'step_started', scope: ['s1'], step: 1, agent: 'a', at: '2026-01-20T10:00:00Z' },
    { type: 'message', ...at(1, 1), text: 'x', at: then, skippedMs },
    { type: 'iteration_started', ...at(1, 1), at: then, skippedMs },
    {
      type: 'marker_refused',
      ...at(1, 1),
      why: 'quotes',
      at: then.replace('02Z', '05Z'),
      skippedMs,
    },
  ]
  const state = events.reduce((before, event) => next(before, event as never), NO_EVENTS)
  expect([state.spent.ms, state.steps[0]?.spent.ms]).toEqual([5000, 5000])
})

test('the time between a run’s end and the processing of its queue does not count', () => {
  const over = { ok: true, exitCode: 0, leftovers: [] }
  const before = next(fold([{ ...STARTED, steps: [] }]), {
    type: 'run_ended',
    ...over,
    at: '2026-01-01T00:00:00Z',
  } as never)
  const crew = { type: 'crew_started', version: '1', pid: 1, at: '2026-01-02T00:00:00Z' }
  const state = next(before, crew as never)
  const left = { type: 'crew_ended', queued: 0, names: [], at: '2026-01-02T00:00:01Z' }
  const done = next(state, left as never)
  expect(done.spent.ms).toBe(1000)
  expect(done.ended).toMatchObject({ ok: true })
})
