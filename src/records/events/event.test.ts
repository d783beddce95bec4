import { expect, test } from 'bun:test'
import { makeStamp, type EventBody } from './event.ts'
import { eventSchema } from './schema.ts'

const STEP = { scope: ['s1'], step: 1 }
const PLACE = { scope: ['s1', 'i1'], step: 1, iteration: 1, attempt: 1 }

const BODIES: EventBody[] = [
  {
    type: 'run_started',
    schema: 1,
    version: '1.2.3',
    pid: 7,
    cwd: '/project',
    chain: 'build',
    record: '/record',
    steps: [
      { step: 1, agent: 'a' },
      { step: 2, agent: 'b', maxIterations: 3 },
    ],
    plan: { run: 'r1' },
  },
  { type: 'step_started', scope: ['s1'], step: 1, agent: 'a', maxIterations: 3 },
  { type: 'iteration_started', ...PLACE, pid: 8, argv: ['/bin/a'], prompt: { level: 'step' } },
  { type: 'iteration_started', ...PLACE, prompt: { level: 'chain', file: 'p.md' } },
  { type: 'output', ...PLACE, stream: 'out', text: 'hello' },
  { type: 'output', ...PLACE, stream: 'err', log: 'x.log', offset: 0, bytes: 5 },
  { type: 'marker_refused', ...PLACE, why: 'code_fence' },
  { type: 'iteration_ended', ...PLACE, outcome: { kind: 'marker' }, ms: 5, outputBytes: 5 },
  {
    type: 'iteration_ended',
    ...PLACE,
    outcome: { kind: 'exited', code: 3 },
    ms: 5,
    outputBytes: 5,
  },
  { type: 'step_ended', ...STEP, agent: 'a', reason: 'marker', iterations: 2, failures: 1 },
  { type: 'warning', text: 'careful' },
  { type: 'record_lost', why: 'the disk is full' },
  {
    type: 'dry_run',
    steps: [
      {
        step: 1,
        agent: 'a',
        kind: 'binary',
        maxIterations: 3,
        args: ['x'],
        prompt: { text: 'Do it', source: { level: 'agent default', file: 'p.md' } },
        argv: ['/bin/a', 'x', 'Do it'],
      },
    ],
  },
  { type: 'run_refused', exitCode: 2, message: 'no', hint: 'do this' },
  { type: 'run_ended', ok: true, exitCode: 0, leftovers: [{ pid: 9, command: 'sleep' }] },
  {
    type: 'run_ended',
    ok: false,
    exitCode: 130,
    stopped: { signal: 'SIGINT', words: 'interrupted by SIGINT' },
    leftovers: [],
  },
]

test.each(BODIES.map((body) => [body.type, body] as const))(
  'a stamped %s is an event of the vocabulary, with nothing added or lost',
  (_, body) => {
    const event = makeStamp('r1', 'w-1')(body)
    expect(eventSchema.parse(event)).toEqual(event)
    expect(event).toMatchObject({ ...body, run: 'r1', worker: 'w-1' })
  },
)

test('events are numbered without gaps, live output is not', () => {
  const stamp = makeStamp('r1', 'w-1')
  const numbers = BODIES.map((body) => stamp(body).seq)
  expect(numbers).toEqual([1, 2, 3, 4, undefined, undefined, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14])
})

test('an event begins with its type and time', () => {
  const before = Date.now()
  const event = makeStamp('r1', 'w-1', 1, () => 0)({ type: 'warning', text: 'careful' })
  expect(Object.keys(event)).toEqual(['type', 'at', 'run', 'seq', 'worker', 'text'])
  const at = Date.parse(event.at)
  expect(at).toBeGreaterThanOrEqual(before)
  expect(at).toBeLessThanOrEqual(Date.now())
})

test('an event says how far the time of day is ahead of the time in which the process ran', () => {
  const event = makeStamp('r1', 'w-1', 1, () => 5000)({ type: 'warning', text: 'careful' })
  expect(eventSchema.parse(event)).toMatchObject({ skippedMs: 5000 })
})

const ENDED = { scope: [], agent: 'a', iterations: 1, failures: 0 }

test.each([
  [{ type: 'unknown' }],
  [{ type: 'warning' }],
  [{ type: 'step_ended', ...ENDED, step: 0, reason: 'marker' }],
  [{ type: 'step_ended', ...ENDED, step: 1, reason: 'whatever' }],
  [{ type: 'step_ended', ...ENDED, step: 1, reason: 'marker', failures: undefined }],
  [{ type: 'iteration_started', ...PLACE, attempt: 0 }],
  [{ type: 'iteration_started', ...PLACE, prompt: { level: 'somewhere' } }],
  [{ type: 'run_ended', ok: false, exitCode: 1, stopped: { signal: 'SIGKILL' }, leftovers: [] }],
  [{ type: 'iteration_ended', ...PLACE, outcome: { kind: 'exited' }, ms: 1, outputBytes: 0 }],
])('%j is not a valid event', (body) => {
  const stamp = { at: new Date(0).toISOString(), run: 'r1', worker: 'w-1' }
  expect(eventSchema.safeParse({ ...body, ...stamp }).success).toBe(false)
})
