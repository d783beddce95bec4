import { expect, test } from 'bun:test'
import type { EventOf } from '../../records/events/event.ts'
import { next } from '../../records/events/fold.ts'
import { NO_EVENTS } from '../../records/events/state.ts'
import { FOR_PIPE } from '../../views/layout.ts'
import { renderCost } from '../../views/cost.ts'
import { CostTable, type CostKey } from './cost-table.ts'

const STATE = next(NO_EVENTS, {
  type: 'run_started',
  schema: 1,
  version: '1.0.0',
  pid: 1,
  cwd: '/project',
  chain: 'build',
  steps: [
    { step: 1, agent: 'planner', name: 'plan' },
    { step: 2, agent: 'builder', maxIterations: 9 },
  ],
  plan: {},
})

const tokens = { input: 10, output: 20, cacheRead: 300, cacheWrite: 40 }

function ended(more: Partial<EventOf<'iteration_ended'>> = {}): EventOf<'iteration_ended'> {
  return {
    type: 'iteration_ended',
    at: '2026-01-20T23:59:00.000Z',
    run: 'r1',
    worker: 'w-1',
    scope: ['s2', 'i1'],
    step: 2,
    iteration: 1,
    attempt: 1,
    outcome: { kind: 'exited', code: 0 },
    ms: 60_000,
    outputBytes: 0,
    usage: { costUsd: 0.5, billing: 'api', tokens },
    ...more,
  }
}

function table(by: CostKey, ...events: EventOf<'iteration_ended'>[]): CostTable {
  const made = new CostTable(by)
  for (const event of events) made.add(event.run, STATE, event)
  return made
}

const short = ({ rows }: CostTable) => rows.map(({ key, costUsd }) => [key, costUsd])

test.each<[CostKey, [string, number][]]>([
  [
    'run',
    [
      ['r2', 0.5],
      ['r1', 0.75],
    ],
  ],
  [
    'agent',
    [
      ['builder', 1],
      ['planner', 0.25],
    ],
  ],
  [
    'step',
    [
      ['build step 2: builder', 1],
      ['build step 1: plan', 0.25],
    ],
  ],
  [
    'day',
    [
      ['2026-01-21', 0.5],
      ['2026-01-20', 0.75],
    ],
  ],
  [
    'task',
    [
      ['(no task)', 0.75],
      ['task-1', 0.25],
      ['task-2', 0.25],
    ],
  ],
])('iterations are added up by %s', (by, rows) => {
  const made = table(
    by,
    ended({ run: 'r2', at: '2026-01-21T00:00:00.000Z' }),
    ended({ tasks: ['task-1', 'task-2'] }),
    ended({ step: 1, tasks: [], usage: { costUsd: 0.25 } }),
  )
  expect(short(made)).toEqual(rows)
  expect(made.total).toMatchObject({ iterations: 3, costUsd: 1.25, ms: 180_000 })
})

test('a repeated iteration costs money but is not counted', () => {
  const { total } = table('run', ended({ again: true }), ended({ attempt: 2 }))
  expect(total).toMatchObject({ iterations: 1, costUsd: 1, tokens: { input: 20, output: 40 } })
})

test('tasks of one iteration share it equally', () => {
  const { rows } = table('task', ended({ tasks: ['a', 'b', 'c', 'd'] }))
  expect(rows).toHaveLength(4)
  const tokensOfOne = { input: 2.5, output: 5, cacheRead: 75, cacheWrite: 10 }
  for (const row of rows)
    expect(row).toMatchObject({ iterations: 0.25, ms: 15_000, tokens: tokensOfOne })
})

test('a table shows subscription costs and unreported costs', () => {
  const plan = { costUsd: 0.5, billing: 'subscription' as const }
  const made = table('agent', ended(), ended({ usage: plan }), ended({ step: 1, usage: undefined }))
  const lines = renderCost('agent', made.rows, made.total, FOR_PIPE)
  expect(lines).toEqual([
    'agent    iterations  input  output  cache read  cache write   time   cost',
    'builder           2     10      20         300           40  2 min  $1.00  $0.50 of it API-equivalent',
    'planner           1      0       0           0            0  1 min      -',
    'total             3     10      20         300           40  3 min  $1.00  $0.50 of it API-equivalent',
    '',
    '1 iteration did not report a cost.',
    'API-equivalent: what the API would have charged; a subscription covers it.',
  ])
})

test('escape sequences in names are not printed', () => {
  const made = table('task', ended({ tasks: ['\u001b[31mred'] }))
  expect(renderCost('task', made.rows, made.total, FOR_PIPE).join('')).not.toContain('\u001b')
})

test('sub-agent tasks are counted apart from iterations', () => {
  const made = new CostTable('agent')
  const { outcome: _, iteration: __, ...rest } = ended({ ms: 1000 })
  const task = { task: 'one', id: 't-1', parent: 'main', agent: 'critic', iteration: 1 }
  const over = { ...rest, ...task, type: 'task_ended' as const, success: true }
  const { usage, ...untold } = over
  made.add('r1', STATE, ended())
  made.add('r1', STATE, over)
  made.add('r1', STATE, { ...untold, again: true })
  made.add('r1', STATE, untold)
  expect(usage?.costUsd).toBe(0.5)
  const critic = { key: 'critic', iterations: 0, tasks: 2, untold: 1, ms: 3000, costUsd: 0.5 }
  expect(made.rows).toMatchObject([{ key: 'builder', iterations: 1, tasks: 0 }, critic])
  const lines = renderCost('agent', made.rows, made.total, FOR_PIPE)
  expect(lines[0]).toMatch(/^agent +iterations +tasks +input /)
  expect(lines[2]).toMatch(/^critic +0 +2 .* 3 s +\$0\.50/)
  expect(lines.at(-1)).toBe('1 iteration or task did not report a cost.')
})
