import { expect, test } from 'bun:test'
import type { StoreKind } from './store-kind.ts'
import { DONE, failed, refusalOf, RUN, TestStore } from './test-store.ts'

const TIMES = { taskLeaseMs: 1000, readerLeaseMs: 1000, firstPauseMs: 100 }

export function testAttempts(kind: StoreKind): void {
  test('a worker keeps its task only as long as it sends heartbeats', async () => {
    const fixture = await TestStore.open(kind, { times: TIMES })
    const claim = await fixture.begin('main', 'a')
    fixture.clock.pass(900)
    expect(await fixture.store.heartbeat(claim)).toEqual({ isOurs: true })
    fixture.clock.pass(900)
    expect(await fixture.store.expire(RUN)).toEqual([])
    fixture.clock.pass(100)
    expect(await fixture.store.expire(RUN)).toMatchObject([{ settled: 'ended' }])
    expect(await fixture.store.heartbeat(claim)).toEqual({ isOurs: false, reason: 'lost' })
    expect(await fixture.read('main')).toEqual(['a: lost'])
    await fixture.close()
  })

  test('a worker that is known to be dead loses its tasks before their lease expires', async () => {
    const fixture = await TestStore.open(kind, { times: TIMES })
    await fixture.begin('main', 'a')
    const b = await fixture.begin('main', 'b')
    const expired = await fixture.store.expire(RUN, ['worker of a'])
    expect(expired.map(({ task }) => task.name)).toEqual(['a'])
    expect(await fixture.store.heartbeat(b)).toEqual({ isOurs: true })
    await fixture.close()
  })

  test('everything that a lost worker reports later is ignored', async () => {
    const fixture = await TestStore.open(kind, { times: TIMES })
    const late = await fixture.begin('main', 'a', { retry: 1 })
    fixture.clock.pass(1000)
    expect(await fixture.store.expire(RUN)).toMatchObject([{ settled: 'retrying' }])
    expect(await fixture.store.settle(late, DONE)).toBe('fenced')
    fixture.clock.pass(1000)
    const claim = await fixture.claim('a')
    expect(claim.attempt).toBe(2)
    expect(await fixture.store.settle(late, { ...DONE, output: 'late' })).toBe('fenced')
    expect(await fixture.store.heartbeat(late)).toEqual({ isOurs: false, reason: 'lost' })
    expect(await fixture.store.settle(claim, DONE)).toBe('ended')
    expect(await fixture.store.settle(claim, DONE)).toBe('fenced')
    expect(await fixture.read('main')).toEqual(['a: done'])
    await fixture.close()
  })

  test.each(['transient', 'lost'] as const)(
    'after %s the task is retried later',
    async (failure) => {
      const fixture = await TestStore.open(kind, { times: TIMES })
      const { store } = fixture
      expect(
        await store.settle(await fixture.begin('main', 'a', { retry: 2 }), failed(failure)),
      ).toBe('retrying')
      expect(await fixture.read('main')).toEqual([])
      expect(await store.claim(RUN, 'w')).toBeNull()
      const { nextReadyInMs } = await store.outlook(RUN)
      expect(nextReadyInMs).toBeWithin(50, 101)
      fixture.clock.pass(nextReadyInMs!)
      expect(await store.settle(await fixture.claim('a'), failed(failure))).toBe('retrying')
      expect((await store.outlook(RUN)).nextReadyInMs).toBeWithin(100, 201)
      fixture.clock.pass(200)
      const last = await fixture.claim('a')
      expect(last.attempt).toBe(3)
      expect(await store.settle(last, failed(failure))).toBe('ended')
      const [lease] = await store.lease(RUN, 'main', {}, 'reader')
      expect(lease!.message).toMatchObject({ attempt: 3, end: failed(failure) })
      await fixture.close()
    },
  )

  test.each(['fatal', 'timeout', 'budget', 'cancelled', 'precondition'] as const)(
    'after %s the task is not retried',
    async (failure) => {
      const fixture = await TestStore.open(kind)
      const claim = await fixture.begin('main', 'a', { retry: 3 })
      expect(await fixture.store.settle(claim, failed(failure))).toBe('ended')
      expect(await fixture.read('main')).toEqual([`a: ${failure}`])
      await fixture.close()
    },
  )

  test('finishedAttempts lists exactly the finished attempts', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const { task } = await fixture.begin('main', 'a', { retry: 1 }).then(async (claim) => {
      await store.settle(claim, failed('transient'))
      return claim
    })
    await fixture.begin('main', 'b')
    fixture.clock.pass(5000)
    await store.settle(await fixture.claim('a'), DONE)
    await fixture.push('main', ['c'])
    await store.cancel(RUN, 'c')
    expect(await store.finishedAttempts(RUN)).toEqual([
      { task: task.id, attempt: 1, how: 'transient', willRetry: true },
      { task: task.id, attempt: 2, how: 'success', willRetry: false },
    ])
    await fixture.close()
  })

  test('a failure with a retry delay is retried after it and uses up no retry', async () => {
    const fixture = await TestStore.open(kind, { times: TIMES })
    const { store } = fixture
    const first = await fixture.begin('main', 'a')
    expect(await store.settle(first, failed('transient'), { inMs: 5000 })).toBe('retrying')
    expect(await store.claim(RUN, 'w')).toBeNull()
    expect((await store.outlook(RUN)).nextReadyInMs).toBe(5000)
    fixture.clock.pass(5000)
    const second = await fixture.claim('a')
    expect(second.attempt).toBe(2)
    expect(await store.settle(second, failed('transient'))).toBe('ended')
    expect(await fixture.read('main')).toEqual(['a: transient'])
    await fixture.close()
  })

  test('a cancelled task is not retried, even with a retry delay', async () => {
    const fixture = await TestStore.open(kind)
    const claim = await fixture.begin('main', 'a')
    await fixture.store.cancel(RUN, 'a')
    expect(await fixture.store.settle(claim, failed('transient'), { inMs: 0 })).toBe('ended')
    expect(await fixture.read('main')).toEqual(['a: cancelled'])
    await fixture.close()
  })

  test('ready tasks can be postponed, and the delay can be ended', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await fixture.push('main', ['a', 'b'])
    await store.start(RUN, 'main')
    const [a, b] = await store.list(RUN)
    await store.postpone(RUN, [a!.id], 60_000)
    expect((await fixture.claim('b')).task.id).toBe(b!.id)
    expect(await store.claim(RUN, 'w')).toBeNull()
    // It is running and cannot be postponed.
    await store.postpone(RUN, [b!.id], 60_000)
    await store.postpone(RUN, [a!.id], 0)
    await fixture.claim('a')
    await fixture.close()
  })

  test('a paused task does not block others', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.store.settle(await fixture.begin('main', 'a', { retry: 1 }), failed('transient'))
    await fixture.begin('main', 'b')
    await fixture.close()
  })

  test('cancel ends a task and its descendants; running ones are notified', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a', { retry: 5 })
    await fixture.push('a', ['b', 'c'])
    await store.start(RUN, 'a', 1)
    await fixture.push('main', ['d'])
    const cancelled = await store.cancel(RUN, 'a', 'no longer wanted')
    expect(cancelled).toEqual({ ended: ['b', 'c'], told: ['a'] })
    expect(await fixture.states()).toEqual({ a: 'running', b: 'ended', c: 'ended', d: 'queued' })
    expect(await store.heartbeat(a)).toEqual({
      isOurs: false,
      reason: 'cancelled',
      why: 'no longer wanted',
    })
    expect(await store.settle(a, failed('transient'))).toBe('ended')
    expect(await fixture.read('main')).toEqual(['b: cancelled', 'c: cancelled', 'a: cancelled'])
    await fixture.close()
  })

  test('a cancelled task that loses its worker is not retried', async () => {
    const fixture = await TestStore.open(kind, { times: TIMES })
    await fixture.begin('main', 'a', { retry: 5 })
    await fixture.store.cancel(RUN, 'a')
    fixture.clock.pass(1000)
    expect(await fixture.store.expire(RUN)).toMatchObject([{ settled: 'ended' }])
    expect(await fixture.read('main')).toEqual(['a: cancelled'])
    await fixture.close()
  })

  test('a task that pauses before a retry can be cancelled', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.store.settle(await fixture.begin('main', 'a', { retry: 5 }), failed('transient'))
    expect(await fixture.store.cancel(RUN, 'a')).toEqual({ ended: ['a'], told: [] })
    expect(await fixture.read('main')).toEqual(['a: cancelled'])
    await fixture.close()
  })

  test('a task that succeeds after it was cancelled is a success', async () => {
    const fixture = await TestStore.open(kind)
    const a = await fixture.begin('main', 'a')
    await fixture.store.cancel(RUN, 'a')
    await fixture.store.settle(a, DONE)
    expect(await fixture.read('main')).toEqual(['a: done'])
    await fixture.close()
  })

  test('main, unknown tasks and ended tasks cannot be cancelled', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await store.settle(await fixture.begin('main', 'a'), DONE)
    expect((await refusalOf(store.cancel(RUN, 'main'))).kind).toBe('not_a_task')
    expect((await refusalOf(store.cancel(RUN, 'nobody'))).kind).toBe('unknown_agent')
    expect((await refusalOf(store.cancel(RUN, 'a'))).kind).toBe('agent_ended')
    await fixture.close()
  })
}
