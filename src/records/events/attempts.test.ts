import { expect, test } from 'bun:test'
import { Attempts } from './attempts.ts'
import { makeStamp, type EventBody } from './event.ts'
import type { RunEvent } from './schema.ts'

const AT = (iteration: number, attempt = 1, scope = ['s1']) => ({
  scope: [...scope, `i${iteration}`],
  step: 1,
  iteration,
  attempt,
})

/** The attempts of a run whose events are 10 s apart. */
function attemptsOf(...bodies: readonly EventBody[]): Attempts {
  const attempts = new Attempts()
  for (const [index, event] of stampAll(bodies).entries())
    attempts.note({ ...event, at: atSecond(index * 10) })
  return attempts
}

function stampAll(bodies: readonly EventBody[]): RunEvent[] {
  let process = 1
  return bodies.map((body) => {
    if (body.type === 'run_resumed') process += 1
    return makeStamp('r', `w-${process}`, 1, () => 0)(body)
  })
}

const atSecond = (second: number) => new Date(second * 1000).toISOString()

const ended = (place: ReturnType<typeof AT>, more: object = {}): EventBody => ({
  type: 'iteration_ended',
  ...place,
  outcome: { kind: 'exited', code: 0 },
  ms: 5000,
  outputBytes: 0,
  ...more,
})
const resumed: EventBody = { type: 'run_resumed', version: '1', pid: 2, lostMs: 2000 }
const started = (...of: Parameters<typeof AT>): EventBody => ({
  type: 'iteration_started',
  ...AT(...of),
})

test('an attempt that a resume repeats was killed when its process last did something', () => {
  const attempts = attemptsOf(
    started(1),
    { type: 'message', ...AT(1), text: 'Working' },
    resumed,
    started(1, 2),
  )
  expect(attempts.list(true)).toMatchObject([
    { attempt: 1, isKilled: true, endedAt: atSecond(12), ms: 12_000, lastWords: 'Working' },
    { attempt: 2, startedAt: atSecond(30) },
  ])
  expect(attempts.list(true)[1]).not.toHaveProperty('isKilled')
  expect(attempts.list(false, 1000)[1]).toMatchObject({ isKilled: true, ms: 1000 })
})

test('an attempt whose beginning is lost is known by its end', () => {
  const attempts = attemptsOf({ type: 'warning', text: 'lost' }, ended(AT(4)))
  expect(attempts.list(false)).toMatchObject([{ iteration: 4, startedAt: atSecond(5), ms: 5000 }])
})

test('commands, tasks and merges belong to the attempt of their branch', () => {
  const [one, two] = [
    ['s1', 'c1'],
    ['s1', 'c2'],
  ] as const
  const check = { step: 1, iteration: 1, role: 'verify', command: 'test', ms: 1 } as const
  const merge = { branch: 'b', tip: 't', result: 'conflict', files: ['a'] } as const
  const attempts = attemptsOf(
    started(1, 1, [...one]),
    started(1, 1, [...two]),
    { type: 'claimed', ...AT(1, 1, [...two]), id: 'TASK-2', title: 'Two' },
    { type: 'command', scope: [...two], ...check, result: 'ok', detail: 'exit 0' },
    ended(AT(1, 1, [...two]), { tasks: ['TASK-2', 'TASK-3'] }),
    { type: 'merge_ended', scope: [...two], ...merge, files: [...merge.files] },
    ended(AT(1, 1, [...one])),
  )
  const [first, second] = attempts.list(false)
  expect(first).toMatchObject({ commands: [], tasks: [] })
  expect(first).not.toHaveProperty('merge')
  expect(second).toMatchObject({
    commands: [{ command: 'test', result: 'ok' }],
    tasks: [{ id: 'TASK-2', title: 'Two' }, { id: 'TASK-3' }],
    merge: { result: 'conflict', files: ['a'] },
  })
})

test('waits and costs are listed with their times', () => {
  const usage = { costUsd: 0.5 }
  const wait = { ...AT(1, 2), why: 'quota', until: atSecond(99), error: 'later' } as const
  const attempts = attemptsOf(
    started(1),
    ended(AT(1), { usage, again: true }),
    { type: 'waiting', ...wait },
    { type: 'waited', ...AT(1, 2), ms: 10_000, cause: 'over' },
    { type: 'waiting', ...wait },
  )
  expect(attempts.costs).toEqual([{ at: atSecond(10), costUsd: 0.5 }])
  expect(attempts.waits).toMatchObject([
    { startedAt: atSecond(20), endedAt: atSecond(30) },
    { startedAt: atSecond(40) },
  ])
})
