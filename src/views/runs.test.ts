import { expect, test } from 'bun:test'
import type { EventBody } from '../records/events/event.ts'
import { next } from '../records/events/fold.ts'
import type { Reason } from '../records/events/schema.ts'
import { NO_EVENTS, type RunState } from '../records/events/state.ts'
import { nextSteps } from './next-steps.ts'
import { formatAge, describeChain, durationOf, describePlace, renderRuns } from './runs.ts'

const NOW = Date.parse('2026-01-20T12:00:00.000Z')
const at = '2026-01-20T10:00:00.000Z'
const ITERATION = { scope: ['s2', 'i5'], step: 2, iteration: 5, attempt: 1 }

type TimedEvent = EventBody & { readonly at?: string }

const fold = (...events: TimedEvent[]) => events.reduce(next, NO_EVENTS)

const STARTED: TimedEvent = {
  type: 'run_started',
  at,
  schema: 1,
  version: '1.0.0',
  pid: 1,
  cwd: '/project',
  steps: [
    { step: 1, agent: 'planner' },
    { step: 2, agent: 'builder', maxIterations: 20 },
    { step: 3, agent: 'fixer', isRecovery: true },
  ],
  plan: {},
}
const SECOND: TimedEvent = { type: 'step_started', at, scope: ['s2'], step: 2, agent: 'builder' }
const FIFTH: TimedEvent = { type: 'iteration_started', at, ...ITERATION }
const RECOVERY: TimedEvent = { type: 'step_started', at, scope: ['s3'], step: 3, agent: 'fixer' }
const ended = (step: number, reason: Reason): TimedEvent => ({
  type: 'step_ended',
  at,
  scope: [`s${step}`],
  step,
  agent: 'x',
  reason,
  iterations: 5,
  failures: 0,
})
const WAITING: TimedEvent = {
  type: 'waiting',
  ...ITERATION,
  why: 'quota',
  until: '2026-01-20T13:05:00.000Z',
  error: 'limit',
}

const run = (status: 'running' | 'waiting' | 'failed' | 'complete' | 'dead', state: RunState) => ({
  id: 'r1',
  status,
  state,
})

test.each([
  ['it has not begun', run('running', fold(STARTED)), 'step 1/2'],
  ['it runs', run('running', fold(STARTED, SECOND, FIFTH)), 'step 2/2, iteration 5/20'],
  [
    'it waits',
    run('waiting', fold(STARTED, SECOND, FIFTH, WAITING)),
    'step 2/2, iteration 5/20, continues in 1 h 05 min',
  ],
  [
    'a step failed',
    run('failed', fold(STARTED, SECOND, FIFTH, ended(2, 'stalled'))),
    'step 2/2, iteration 5/20, stalled',
  ],
  [
    'a recovery is running',
    run('running', fold(STARTED, SECOND, ended(2, 'stalled'), RECOVERY)),
    'recovery 3',
  ],
  [
    'the recovery did not help',
    run(
      'failed',
      fold(STARTED, SECOND, FIFTH, ended(2, 'stalled'), RECOVERY, ended(3, 'single_run')),
    ),
    'step 2/2, iteration 5/20, stalled',
  ],
  [
    'all is done',
    run('complete', fold(STARTED, ended(1, 'single_run'), SECOND, ended(2, 'marker'))),
    '2/2 steps',
  ],
])('the place of a run if %s', (_, recorded, words) => {
  expect(describePlace(recorded, NOW)).toBe(words)
})

const COPIES = fold(
  { ...STARTED, steps: [{ step: 1, agent: 'build', maxIterations: 5, copies: 3 }] },
  ...[1, 2, 3].map<TimedEvent>((copy) => ({
    type: 'step_started',
    at,
    scope: ['s1', `c${copy}`],
    step: 1,
    agent: 'build',
  })),
)
const waitOf = (copy: number): TimedEvent => ({
  ...WAITING,
  scope: ['s1', `c${copy}`, 'i1'],
  step: 1,
  iteration: 1,
})

test('the place of a run with branches counts them', () => {
  expect(describePlace(run('running', COPIES), NOW)).toBe('step 1/1, 3 in parallel')
  const one = next(COPIES, waitOf(2))
  expect(describePlace(run('running', one), NOW)).toBe('step 1/1, 3 in parallel, 1 waiting')
  const steps = [
    { step: 1, agent: 'lint', within: 'g1' },
    { step: 2, agent: 'test', within: 'g1' },
    { step: 3, agent: 'end' },
  ]
  const groups = [{ id: 'g1', kind: 'parallel' as const, first: 1, last: 2 }]
  const started = (step: number): TimedEvent => ({ ...SECOND, scope: ['g1', `s${step}`], step })
  const state = fold({ ...STARTED, steps, groups }, started(1), started(2))
  expect(describePlace(run('running', state), NOW)).toBe('steps 1-2/3, 2 in parallel')
})

test('the place of a run that failed is not a step that was cancelled for it', () => {
  const within = 'g1'
  const steps = [1, 2, 3].map((step) => ({ step, agent: 'a', within: step === 2 ? 'g2' : within }))
  const groups = [
    { id: 'g1', kind: 'parallel' as const, first: 1, last: 3 },
    { id: 'g2', kind: 'sequence' as const, first: 2, last: 2, within },
  ]
  const end = (step: number, scope: string[], reason: Reason) => ({ ...ended(step, reason), scope })
  const state = fold(
    { ...STARTED, steps, groups },
    end(1, ['g1', 's1'], 'cancelled'),
    end(2, ['g1', 'g2', 's2'], 'agent_failed'),
    end(3, ['g1', 's3'], 'cancelled'),
  )
  expect(describePlace(run('failed', state), NOW)).toBe('step 2/3, agent_failed')
})

test('a wait that should be over continues now', () => {
  const state = fold(STARTED, SECOND, FIFTH, WAITING)
  expect(describePlace(run('waiting', state), NOW + 86_400_000)).toEndWith(', continues now')
})

test('a chain is shown by its name or its steps', () => {
  expect(describeChain({ state: fold(STARTED) })).toBe('planner -> builder:20')
  expect(describeChain({ state: fold({ ...STARTED, chain: 'build' }) })).toBe('build')
  const counts = { queued: 3, ready: 0, running: 0, failed: 1, done: 7 }
  const state = fold({ ...STARTED, steps: [] })
  expect(describeChain({ state, counts })).toBe('queue: 3 queued, 1 failed, 7 done')
})

test('time passes only for an active run', () => {
  const state = fold(STARTED, SECOND)
  expect(durationOf(run('running', state), NOW)).toBe(7_200_000)
  expect(durationOf(run('dead', state), NOW)).toBe(0)
})

test('an old run is shown with its date', () => {
  expect(formatAge(at, NOW)).toBe('2 h ago')
  expect(formatAge('2026-01-10T10:00:00.000Z', NOW)).toBe('2026-01-10')
  expect(formatAge(undefined, NOW)).toBe('just now')
})

test('a long chain does not push the other columns away', () => {
  const steps = Array.from({ length: 30 }, (_, i) => ({ step: i + 1, agent: 'agent' }))
  const [line] = renderRuns([run('running', fold({ ...STARTED, steps }))], NOW)
  expect(line!.length).toBeLessThan(140)
  expect(line).toContain('…  step 1/30')
})

test.each([
  ['running', 'forkhestra logs r1 --follow'],
  ['waiting', 'forkhestra retry-now r1'],
  ['dead', 'forkhestra resume r1'],
  ['complete', 'forkhestra logs r1'],
] as const)('what comes first where a run is %s', (status, command) => {
  expect(nextSteps(run(status, fold(STARTED, SECOND, FIFTH)))[0]?.[0]).toBe(command)
})

test('if a login is missing, doctor is suggested before resume', () => {
  const commands = nextSteps(run('failed', fold(STARTED, SECOND, FIFTH, ended(2, 'auth'))))
  expect(commands.map(([command]) => command)).toEqual([
    'forkhestra doctor',
    'forkhestra resume r1',
    'forkhestra logs r1 --step 2',
  ])
})

test('a command for a run of another folder says where it is', () => {
  const elsewhere = nextSteps(run('failed', fold(STARTED, SECOND, ended(2, 'auth'))), '/elsewhere')
  expect(elsewhere[1]?.[0]).toBe('forkhestra resume r1 --cwd /project')
})
