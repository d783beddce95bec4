import { describe, expect, test } from 'bun:test'
import { make } from '../../../tests/support/plan.ts'
import { NOTICE_KINDS } from '../../chain/parse/notify-schema.ts'
import type { ChainConfig } from '../../chain/parse/chains-schema.ts'
import type { NoticeKind } from '../../chain/plan/notify.ts'
import { summarize } from '../../chain/plan/summarize.ts'
import { makeStamp, type EventBody } from '../../records/events/event.ts'
import { next } from '../../records/events/fold.ts'
import { NO_EVENTS, type RunState } from '../../records/events/state.ts'
import { noticeFor } from './notice-for.ts'

/** What a recipient of everything, or of `on`, learns from the events of a chain. */
function noticesOf(
  events: readonly EventBody[],
  chain: Partial<ChainConfig> = {},
  on: readonly NoticeKind[] = NOTICE_KINDS,
): string[] {
  const { plan } = make({ chain })
  const stamp = makeStamp('r1', 'w-1')
  const began: EventBody = {
    type: 'run_started',
    schema: 1,
    version: '1',
    pid: 1,
    cwd: '/project',
    plan: {},
    ...summarize(plan),
  }
  let before: RunState = NO_EVENTS
  return [began, ...events].flatMap((body) => {
    const event = stamp(body)
    const after = next(before, event)
    const kind = noticeFor({ on, minWaitMs: 60_000 }, event, { before, after }, plan)
    before = after
    return kind === undefined ? [] : [`${event.type}: ${kind}`]
  })
}

const STEPS = [{ agent: 'a', iterations: 3 }, { agent: 'b' }]
const PLACE = { scope: ['s1', 'i1'], step: 1, iteration: 1, attempt: 1 }
const started = (step: number) => ({
  type: 'step_started' as const,
  scope: [`s${step}`],
  step,
  agent: 'a',
})
const blocked = (step: number) => ({
  type: 'step_ended' as const,
  scope: [`s${step}`],
  step,
  agent: 'a',
  reason: 'blocked' as const,
  iterations: 1,
  failures: 0,
})
const inGroup = <Event extends { readonly scope: readonly string[] }>(event: Event) => ({
  ...event,
  scope: ['g1', 'r1', ...event.scope],
})
const waiting = (seconds: number): EventBody => ({
  type: 'waiting',
  ...PLACE,
  why: 'quota',
  until: new Date(Date.now() + 1000 * seconds).toISOString(),
  error: 'limit reached',
})
const waited: EventBody = { type: 'waited', ...PLACE, ms: 1, cause: 'over' }
const ended = (ok: boolean): EventBody => ({
  type: 'run_ended',
  ok,
  exitCode: ok ? 0 : 1,
  leftovers: [],
})
const spending = (costUsd: number): EventBody => ({
  type: 'iteration_ended',
  ...PLACE,
  outcome: { kind: 'exited', code: 0 },
  ms: 1,
  outputBytes: 0,
  usage: { costUsd },
})

describe('an agent that is blocked', () => {
  test('ends the run, which is one notification', () => {
    expect(noticesOf([started(1), blocked(1), ended(false)])).toEqual(['run_ended: blocked'])
  })

  test.each<[NoticeKind[], string[]]>([
    [['end'], ['run_ended: blocked']],
    [['blocked'], ['run_ended: blocked']],
    [['wait', 'budget'], []],
  ])('reaches who wants to know about %j', (on, notices) => {
    expect(noticesOf([started(1), blocked(1), ended(false)], {}, on)).toEqual(notices)
  })

  test('is reported at once if the run continues after the step', () => {
    const steps = STEPS.map((step) => ({ ...step, onFail: 'continue' as const }))
    expect(noticesOf([started(1), blocked(1), started(2)], { steps })).toEqual([
      'step_ended: blocked',
    ])
  })

  test('is reported once if the run cannot go back again', () => {
    const steps = [STEPS[1]!, { ...STEPS[0]!, onFail: { goto: 1 } }]
    const jump: EventBody = { type: 'jump', scope: ['s2'], step: 2, to: 1, count: 1, times: 1 }
    const events = [started(2), blocked(2), jump, started(2), blocked(2), ended(false)]
    expect(noticesOf(events, { steps })).toEqual(['step_ended: blocked', 'run_ended: blocked'])
  })

  test('is reported at once if the run continues after its group', () => {
    const steps = [{ sequence: STEPS, onFail: 'continue' as const }, { agent: 'c' }]
    const events = [inGroup(started(1)), inGroup(blocked(1))]
    expect(noticesOf(events, { steps })).toEqual(['step_ended: blocked'])
  })

  test('is reported at once if others still work', () => {
    const steps = [{ parallel: STEPS }]
    const events = [
      { type: 'group_started' as const, scope: ['g1', 'r1'], group: 'g1', round: 1 },
      inGroup(started(1)),
      inGroup(started(2)),
      inGroup(blocked(1)),
    ]
    expect(noticesOf(events, { steps })).toEqual(['step_ended: blocked'])
  })
})

test('only long waits are reported, and only once if several agents wait', () => {
  const other = { ...waiting(900), scope: ['s2', 'i1'], step: 2 } as EventBody
  expect(noticesOf([waiting(30)], { steps: STEPS })).toEqual([])
  expect(noticesOf([waiting(900), other], { steps: STEPS })).toEqual(['waiting: wait'])
  expect(noticesOf([waiting(900), waited, waiting(900)], { steps: STEPS })).toEqual([
    'waiting: wait',
    'waiting: wait',
  ])
})

test('half of the budget of the run is reported once, when it is exceeded', () => {
  const events = [started(1), spending(1), spending(0.01), spending(0.5), ended(true)]
  expect(noticesOf(events, { maxCostUsd: 2 })).toEqual([
    'iteration_ended: budget',
    'run_ended: end',
  ])
  expect(noticesOf(events)).toEqual(['run_ended: end'])
})
