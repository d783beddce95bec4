import { expect, test } from 'bun:test'
import type { Home } from './home.ts'
import { DONE, failed, refusalOf, RUN, Stage } from './stage.ts'

const TIMES = { taskLeaseMs: 1000, readerLeaseMs: 1000, firstPauseMs: 100 }

export function testAttempts(home: Home): void {
  test('a worker keeps its task only as long as it sends heartbeats', async () => {
    const stage = await Stage.set(home, { times: TIMES })
    const claim = await stage.begin('main', 'a')
    stage.clock.pass(900)
    expect(await stage.store.beat(claim)).toEqual({ isOurs: true })
    stage.clock.pass(900)
    expect(await stage.store.expire(RUN)).toEqual([])
    stage.clock.pass(100)
    expect(await stage.store.expire(RUN)).toMatchObject([{ settled: 'ended' }])
    expect(await stage.store.beat(claim)).toEqual({ isOurs: false, reason: 'lost' })
    expect(await stage.read('main')).toEqual(['a: lost'])
    await stage.strike()
  })

  test('a worker that is known to be dead loses its tasks before their lease expires', async () => {
    const stage = await Stage.set(home, { times: TIMES })
    await stage.begin('main', 'a')
    const b = await stage.begin('main', 'b')
    const expired = await stage.store.expire(RUN, ['worker of a'])
    expect(expired.map(({ task }) => task.name)).toEqual(['a'])
    expect(await stage.store.beat(b)).toEqual({ isOurs: true })
    await stage.strike()
  })

  test('everything that a lost worker reports later is ignored', async () => {
    const stage = await Stage.set(home, { times: TIMES })
    const late = await stage.begin('main', 'a', { retry: 1 })
    stage.clock.pass(1000)
    expect(await stage.store.expire(RUN)).toMatchObject([{ settled: 'retrying' }])
    expect(await stage.store.settle(late, DONE)).toBe('fenced')
    stage.clock.pass(1000)
    const claim = await stage.claim('a')
    expect(claim.attempt).toBe(2)
    expect(await stage.store.settle(late, { ...DONE, output: 'late' })).toBe('fenced')
    expect(await stage.store.beat(late)).toEqual({ isOurs: false, reason: 'lost' })
    expect(await stage.store.settle(claim, DONE)).toBe('ended')
    expect(await stage.store.settle(claim, DONE)).toBe('fenced')
    expect(await stage.read('main')).toEqual(['a: done'])
    await stage.strike()
  })

  test.each(['transient', 'lost'] as const)(
    'after %s the task is retried later',
    async (failure) => {
      const stage = await Stage.set(home, { times: TIMES })
      const { store } = stage
      expect(
        await store.settle(await stage.begin('main', 'a', { retry: 2 }), failed(failure)),
      ).toBe('retrying')
      expect(await stage.read('main')).toEqual([])
      expect(await store.claim(RUN, 'w')).toBeNull()
      const { nextReadyInMs } = await store.outlook(RUN)
      expect(nextReadyInMs).toBeWithin(50, 101)
      stage.clock.pass(nextReadyInMs!)
      expect(await store.settle(await stage.claim('a'), failed(failure))).toBe('retrying')
      expect((await store.outlook(RUN)).nextReadyInMs).toBeWithin(100, 201)
      stage.clock.pass(200)
      const last = await stage.claim('a')
      expect(last.attempt).toBe(3)
      expect(await store.settle(last, failed(failure))).toBe('ended')
      const [lease] = await store.lease(RUN, 'main', {}, 'reader')
      expect(lease!.message).toMatchObject({ attempt: 3, end: failed(failure) })
      await stage.strike()
    },
  )

  test.each(['fatal', 'timeout', 'budget', 'cancelled', 'precondition'] as const)(
    'after %s the task is not retried',
    async (failure) => {
      const stage = await Stage.set(home)
      const claim = await stage.begin('main', 'a', { retry: 3 })
      expect(await stage.store.settle(claim, failed(failure))).toBe('ended')
      expect(await stage.read('main')).toEqual([`a: ${failure}`])
      await stage.strike()
    },
  )

  test('finishedAttempts lists exactly the finished attempts', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const { task } = await stage.begin('main', 'a', { retry: 1 }).then(async (claim) => {
      await store.settle(claim, failed('transient'))
      return claim
    })
    await stage.begin('main', 'b')
    stage.clock.pass(5000)
    await store.settle(await stage.claim('a'), DONE)
    await stage.push('main', ['c'])
    await store.cancel(RUN, 'c')
    expect(await store.finishedAttempts(RUN)).toEqual([
      { task: task.id, attempt: 1, how: 'transient', willRetry: true },
      { task: task.id, attempt: 2, how: 'success', willRetry: false },
    ])
    await stage.strike()
  })

  test('a failure with a retry delay is retried after it and uses up no retry', async () => {
    const stage = await Stage.set(home, { times: TIMES })
    const { store } = stage
    const first = await stage.begin('main', 'a')
    expect(await store.settle(first, failed('transient'), { inMs: 5000 })).toBe('retrying')
    expect(await store.claim(RUN, 'w')).toBeNull()
    expect((await store.outlook(RUN)).nextReadyInMs).toBe(5000)
    stage.clock.pass(5000)
    const second = await stage.claim('a')
    expect(second.attempt).toBe(2)
    expect(await store.settle(second, failed('transient'))).toBe('ended')
    expect(await stage.read('main')).toEqual(['a: transient'])
    await stage.strike()
  })

  test('a cancelled task is not retried, even with a retry delay', async () => {
    const stage = await Stage.set(home)
    const claim = await stage.begin('main', 'a')
    await stage.store.cancel(RUN, 'a')
    expect(await stage.store.settle(claim, failed('transient'), { inMs: 0 })).toBe('ended')
    expect(await stage.read('main')).toEqual(['a: cancelled'])
    await stage.strike()
  })

  test('ready tasks can be postponed, and the delay can be ended', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    await stage.push('main', ['a', 'b'])
    await store.start(RUN, 'main')
    const [a, b] = await store.list(RUN)
    await store.postpone(RUN, [a!.id], 60_000)
    expect((await stage.claim('b')).task.id).toBe(b!.id)
    expect(await store.claim(RUN, 'w')).toBeNull()
    // It is running and cannot be postponed.
    await store.postpone(RUN, [b!.id], 60_000)
    await store.postpone(RUN, [a!.id], 0)
    await stage.claim('a')
    await stage.strike()
  })

  test('a paused task does not block others', async () => {
    const stage = await Stage.set(home)
    await stage.store.settle(await stage.begin('main', 'a', { retry: 1 }), failed('transient'))
    await stage.begin('main', 'b')
    await stage.strike()
  })

  test('cancel ends a task and its descendants; running ones are notified', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a', { retry: 5 })
    await stage.push('a', ['b', 'c'])
    await store.start(RUN, 'a', 1)
    await stage.push('main', ['d'])
    const cancelled = await store.cancel(RUN, 'a', 'no longer wanted')
    expect(cancelled).toEqual({ ended: ['b', 'c'], told: ['a'] })
    expect(await stage.states()).toEqual({ a: 'running', b: 'ended', c: 'ended', d: 'queued' })
    expect(await store.beat(a)).toEqual({
      isOurs: false,
      reason: 'cancelled',
      why: 'no longer wanted',
    })
    expect(await store.settle(a, failed('transient'))).toBe('ended')
    expect(await stage.read('main')).toEqual(['b: cancelled', 'c: cancelled', 'a: cancelled'])
    await stage.strike()
  })

  test('a cancelled task that loses its worker is not retried', async () => {
    const stage = await Stage.set(home, { times: TIMES })
    await stage.begin('main', 'a', { retry: 5 })
    await stage.store.cancel(RUN, 'a')
    stage.clock.pass(1000)
    expect(await stage.store.expire(RUN)).toMatchObject([{ settled: 'ended' }])
    expect(await stage.read('main')).toEqual(['a: cancelled'])
    await stage.strike()
  })

  test('a task that pauses before a retry can be cancelled', async () => {
    const stage = await Stage.set(home)
    await stage.store.settle(await stage.begin('main', 'a', { retry: 5 }), failed('transient'))
    expect(await stage.store.cancel(RUN, 'a')).toEqual({ ended: ['a'], told: [] })
    expect(await stage.read('main')).toEqual(['a: cancelled'])
    await stage.strike()
  })

  test('a task that succeeds after it was cancelled is a success', async () => {
    const stage = await Stage.set(home)
    const a = await stage.begin('main', 'a')
    await stage.store.cancel(RUN, 'a')
    await stage.store.settle(a, DONE)
    expect(await stage.read('main')).toEqual(['a: done'])
    await stage.strike()
  })

  test('main, unknown tasks and ended tasks cannot be cancelled', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    await store.settle(await stage.begin('main', 'a'), DONE)
    expect((await refusalOf(store.cancel(RUN, 'main'))).kind).toBe('main_stays')
    expect((await refusalOf(store.cancel(RUN, 'nobody'))).kind).toBe('unknown_agent')
    expect((await refusalOf(store.cancel(RUN, 'a'))).kind).toBe('agent_ended')
    await stage.strike()
  })
}
