import { expect, test } from 'bun:test'
import { makeStamp, type EventOf } from './event.ts'
import { next } from './fold.ts'
import { NO_EVENTS, type RunState } from './state.ts'
import { isOnlyWaiting, isWaiting, waitsOf } from './waits.ts'

const stamp = makeStamp('r1', 'w-1')
const place = (copy: number) => ({
  scope: ['s1', `c${copy}`, 'i1'],
  step: 1,
  iteration: 1,
  attempt: 1,
})

const STARTED: RunState = next(NO_EVENTS, {
  type: 'run_started',
  schema: 1,
  version: '1',
  pid: 1,
  cwd: '/project',
  plan: {},
  steps: [{ step: 1, agent: 'build', copies: 2, maxIterations: 3 }],
})

function wait(state: RunState, copy: number, task?: string): RunState {
  const until = '2026-01-20T10:00:00.000Z'
  const body = { type: 'waiting', ...place(copy), why: 'quota', until, error: 'limit' } as const
  return next(state, stamp(task === undefined ? body : { ...body, task }))
}

function endWait(state: RunState, copy: number, task?: string): RunState {
  const body = { type: 'waited', ...place(copy), ms: 1, cause: 'over' } as const
  return next(state, task === undefined ? body : { ...body, task })
}

const waits = (state: RunState) =>
  waitsOf(state).map(({ scope, task }: EventOf<'waiting'>) => task ?? scope[1])

test('several branches wait, and each wait ends by itself', () => {
  const both = wait(wait(STARTED, 2), 1)
  expect(waits(both)).toEqual(['c2', 'c1'])
  expect(both.waiting?.scope[1]).toBe('c2')
  expect(waits(wait(both, 2))).toEqual(['c1', 'c2'])
  expect(waits(endWait(both, 2))).toEqual(['c1'])
  expect(waits(endWait(endWait(both, 2), 1))).toEqual([])
})

test('a queued task waits independently of its step', () => {
  const both = wait(wait(STARTED, 1), 1, 'docs')
  expect(waits(both)).toEqual(['c1', 'docs'])
  expect(waits(endWait(both, 1))).toEqual(['docs'])
})

test('a resume forgets the waits of the killed process', () => {
  const both = wait(wait(STARTED, 1), 2)
  expect(waits(next(both, { type: 'run_resumed', version: '1', pid: 2 }))).toEqual([])
})

test('a run waits only if no other branch works', () => {
  expect([isWaiting(STARTED), isOnlyWaiting(STARTED)]).toEqual([false, false])
  const one = wait(STARTED, 1)
  expect([isWaiting(one), isOnlyWaiting(one)]).toEqual([true, true])
  const working = next(one, { type: 'iteration_started', ...place(2), pid: 3 })
  expect([isWaiting(working), isOnlyWaiting(working)]).toEqual([false, false])
  const task = wait(next(STARTED, { type: 'iteration_started', ...place(2), pid: 3 }), 2, 'docs')
  expect([isWaiting(task), isOnlyWaiting(task)]).toEqual([true, false])
})
