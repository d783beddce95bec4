import { expect, test } from 'bun:test'
import type { EventOf } from '../../records/events/event.ts'
import { makeProject } from '../../../tests/support/project.ts'
import { UnloggedOutput } from './unlogged-output.ts'

const PLACE = { scope: ['s1', 'i1'], step: 1, iteration: 1, attempt: 1 }
const STAMP = { at: '2026-01-20T10:00:00.000Z', run: 'r1', worker: 'w-1' }
const STARTED: EventOf<'iteration_started'> = { type: 'iteration_started', ...STAMP, ...PLACE }
const RESUMED: EventOf<'run_resumed'> = { type: 'run_resumed', ...STAMP, version: '1', pid: 1 }
const output = (log: string, offset: number, bytes: number): EventOf<'output'> => {
  const place = { ...STAMP, ...PLACE, stream: 'err' as const }
  return { type: 'output', ...place, log, offset, bytes }
}
const LOG = 'steps/1/iterations/1.log'
const AGAIN = 'steps/1/iterations/1.again-2.log'

test('output after the last event is found, once', () => {
  const unlogged = new UnloggedOutput(makeProject({ [LOG]: 'first and last' }))
  unlogged.note(STARTED)
  unlogged.note(output(LOG, 0, 5))
  expect(unlogged.take()).toEqual([output(LOG, 5, 9)])
  expect(unlogged.take()).toEqual([])
})

test('it is found even if no event names the log', () => {
  const unlogged = new UnloggedOutput(makeProject({ [LOG]: 'all of it' }))
  unlogged.note(STARTED)
  expect(unlogged.take()).toMatchObject([{ stream: 'out', log: LOG, offset: 0, bytes: 9 }])
})

test('a repeated iteration has a separate log', () => {
  const unlogged = new UnloggedOutput(makeProject({ [LOG]: 'before', [AGAIN]: 'after' }))
  unlogged.note(STARTED)
  unlogged.note(RESUMED)
  unlogged.note(STARTED)
  expect(unlogged.take()).toMatchObject([{ log: AGAIN, bytes: 5 }])
})

test('nothing is found if events cover all output, or there is none', () => {
  const unlogged = new UnloggedOutput(makeProject({ [LOG]: 'first' }))
  expect(unlogged.take()).toEqual([])
  unlogged.note(STARTED)
  unlogged.note(output(LOG, 0, 5))
  expect(unlogged.take()).toEqual([])
  unlogged.note({ ...STARTED, iteration: 2 })
  expect(unlogged.take()).toEqual([])
})

test('each branch has its own log', () => {
  const logs = [1, 2].map((copy) => `steps/1/copy-${copy}/iterations/1.log`)
  const unlogged = new UnloggedOutput(makeProject({ [logs[0]!]: 'first', [logs[1]!]: 'second' }))
  for (const copy of [1, 2]) unlogged.note({ ...STARTED, scope: ['s1', `c${copy}`, 'i1'] })
  unlogged.note({ ...output(logs[0]!, 0, 2), scope: ['s1', 'c1', 'i1'] })
  expect(unlogged.take()).toMatchObject([
    { log: logs[0], offset: 2, bytes: 3 },
    { log: logs[1], offset: 0, bytes: 6 },
  ])
})
