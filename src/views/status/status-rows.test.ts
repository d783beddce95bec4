import { expect, test } from 'bun:test'
import { makeStamp, type EventBody } from '../../records/events/event.ts'
import { next } from '../../records/events/fold.ts'
import { NO_EVENTS, type RunState } from '../../records/events/state.ts'
import { Activities } from './activity.ts'
import { statusRows } from './status-rows.ts'

const place = { scope: ['s1', 'i3'], step: 1, iteration: 3, attempt: 1 }
const BEGIN: EventBody[] = [
  {
    type: 'run_started',
    schema: 1,
    version: '',
    pid: 1,
    cwd: '/',
    steps: [{ step: 1, agent: 'builder', maxIterations: 20 }],
    plan: {},
  },
  { type: 'step_started', scope: ['s1'], step: 1, agent: 'builder', maxIterations: 20 },
  { type: 'iteration_started', ...place },
  { type: 'claimed', ...place, id: 'TASK-003', title: 'Add login' },
]
const TOOL: EventBody = { type: 'tool', ...place, name: 'Bash', brief: 'npm test' }

/** The rows a number of seconds after these events. */
function rowsAfter(events: readonly EventBody[], width: number, seconds = 0): string[] {
  const activities = new Activities()
  const stamp = makeStamp('r1', 'w1')
  let state: RunState = NO_EVENTS
  for (const body of events) {
    const event = stamp(body)
    state = next(state, event)
    activities.take(event)
  }
  const spent = { ...state.spent, costUsd: 1.2, tokens: { ...state.spent.tokens, input: 41_000 } }
  const now = Date.now() + seconds * 1000
  return statusRows({ ...state, spent }, activities, { costUsd: 20 }, now, { width, height: 24 })
}

test.each([
  [80, 'builder 3/20 · TASK-003 Add login · 42s · Bash npm test 0:42 · 41.0k tok $1.20/$20.00'],
  [70, 'builder 3/20 · TASK-003 Add login · 42s · Bash npm test 0:42 · $1.20/$20.00'],
  [65, 'builder 3/20 · TASK-003 · 42s · Bash npm test 0:42 · $1.20/$20.00'],
  [51, 'builder 3/20 · TASK-003 · 42s · Bash 0:42 · $1.20/$20.00'],
])('in %i columns: %s', (width, expected) => {
  expect(rowsAfter([...BEGIN, TOOL], width + 5, 42)).toEqual([expected])
})

test.each<[string, EventBody[], number]>([
  [
    'builder 3/20 · TASK-003 Add login · 4m12s · thinking',
    [TOOL, { type: 'tool_ended', ...place, name: 'Bash', ms: 1 }],
    252,
  ],
  ['builder 3/20 · TASK-003 Add login · 5s', [], 5],
  ['builder 3/20 · TASK-003 Add login · 2h05m · silent 2:05:00', [], 7500],
  [
    'builder 3/20 · TASK-003 Add login · 5s · gate: npm test 0:05',
    [
      {
        type: 'command_started',
        scope: ['s1', 'i3'],
        step: 1,
        role: 'verify',
        command: 'npm test',
      },
    ],
    5,
  ],
  [
    'builder 3/20 · waiting 1 h 53 min for the limit, until 2',
    [
      {
        type: 'iteration_ended',
        ...place,
        outcome: { kind: 'exited', code: 1 },
        ms: 1,
        outputBytes: 0,
        again: true,
      },
      {
        type: 'waiting',
        ...place,
        why: 'quota',
        until: new Date(Date.now() + 6_780_400).toISOString(),
        error: 'x',
      },
    ],
    0,
  ],
])('%s', (expected, events, seconds) => {
  const [row = ''] = rowsAfter([...BEGIN, ...events], 200, seconds)
  expect(row.replace(/until \d\d:\d\d/, 'until 2')).toBe(`${expected} · 41.0k tok $1.20/$20.00`)
})

test('before the first step and after the last one there is no row', () => {
  expect(rowsAfter(BEGIN.slice(0, 1), 80)).toEqual([])
  const ended: EventBody = {
    type: 'step_ended',
    scope: ['s1'],
    step: 1,
    agent: 'builder',
    reason: 'marker',
    iterations: 3,
    failures: 0,
  }
  expect(rowsAfter([...BEGIN, ended], 80)).toEqual([])
})
