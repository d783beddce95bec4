import { expect, test } from 'bun:test'
import { actingFor } from '../../../src/queue/task.ts'
import type { StoreKind } from './store-kind.ts'
import { DONE, failed, newMessage, RUN, TestStore } from './test-store.ts'

const PAUSE_MS = 1000

export function testRetries(kind: StoreKind): void {
  test('a retried task keeps the tasks that its prompt pushed, and their results', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a', { retry: 1 })
    const b = await fixture.begin(actingFor(a), 'b', { isForAllAttempts: true })
    await fixture.push(actingFor(a), ['c'], { isForAllAttempts: true })
    await store.settle(b, DONE)
    await store.settle(a, failed('transient'))
    expect(await fixture.states()).toEqual({ a: 'ready', b: 'ended', c: 'queued' })
    expect(await fixture.read('a')).toEqual(['b: done'])
    expect(await fixture.read('main')).toEqual([])
    await fixture.close()
  })

  test('tasks that an attempt pushed itself end with it, and their names can be reused', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a', { retry: 1 })
    const worked = await fixture.begin(actingFor(a), 'worked', { retry: 5 })
    await fixture.push(actingFor(a), ['queued'])
    await store.settle(a, failed('lost'))
    expect(await fixture.states()).toEqual({ a: 'ready', worked: 'running', queued: 'ended' })
    const why = 'attempt 1 of a is over'
    expect(await store.heartbeat(worked)).toEqual({ isOurs: false, reason: 'cancelled', why })
    fixture.clock.pass(PAUSE_MS)
    const again = await fixture.claim('a')
    expect(await store.settle(worked, failed('transient'))).toBe('ended')
    expect(await fixture.read('a')).toEqual([])
    expect(await fixture.read('main')).toEqual(['queued: cancelled', 'worked: cancelled'])
    await fixture.push(actingFor(again), ['worked', 'queued'])
    await fixture.close()
  })

  test('tasks that an attempt pushed can be cancelled before it is settled', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a', { retry: 1 })
    const own = await fixture.begin(actingFor(a), 'own', { retry: 5 })
    await fixture.begin(actingFor(a), 'of-all', { isForAllAttempts: true })
    await store.abandon(a)
    const why = 'attempt 1 of a is over'
    expect(await store.heartbeat(own)).toEqual({ isOurs: false, reason: 'cancelled', why })
    await store.settle(own, failed('transient'))
    await store.settle(a, failed('transient'))
    expect(await fixture.states()).toEqual({ a: 'ready', own: 'ended', 'of-all': 'running' })
    expect(await fixture.read('main')).toEqual(['own: cancelled'])
    await store.abandon(a)
    expect(await fixture.states()).toEqual({ a: 'ready', own: 'ended', 'of-all': 'running' })
    await fixture.close()
  })

  test('an attempt that is lost together with its tasks leaves nothing to the next', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a', { retry: 1 })
    await fixture.begin(actingFor(a), 'b', { retry: 1 })
    const dead = ['worker of a', 'worker of b']
    const expired = await store.expire(RUN, dead)
    expect(expired.map(({ task, settled }) => [task.name, settled])).toEqual([
      ['a', 'retrying'],
      ['b', 'ended'],
    ])
    fixture.clock.pass(PAUSE_MS)
    const again = await fixture.claim('a')
    const b = await fixture.begin(actingFor(again), 'b')
    await store.settle(b, { ...DONE, output: 'the second' })
    expect(await fixture.read('a')).toEqual(['b: the second'])
    expect(await fixture.read('main')).toEqual(['b: cancelled'])
    await fixture.close()
  })

  test('unread answers of an attempt are forwarded, and messages from others stay', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a', { retry: 1 })
    const b = await fixture.begin(actingFor(a), 'b')
    const c = await fixture.begin(actingFor(b), 'c')
    await store.settle(b, DONE)
    await store.send(newMessage('c', 'a', 'half'))
    await store.send(newMessage('main', 'a', 'hello'))
    await store.settle(a, failed('transient'))
    await store.settle(c, DONE)
    expect(await fixture.read('a')).toEqual(['main: hello'])
    expect(await fixture.read('main')).toEqual(['b: done', 'c: half', 'c: done'])
    await fixture.close()
  })

  test.each(['dead', 'alive'])(
    'an answer that is leased to a reader that is %s when its attempt ends is not for the next attempt',
    async (reader) => {
      const fixture = await TestStore.open(kind)
      const { store } = fixture
      const a = await fixture.begin('main', 'a', { retry: 1 })
      await store.settle(await fixture.begin(actingFor(a), 'b'), DONE)
      await store.lease(RUN, actingFor(a), {}, 'reader of a')
      await store.expire(RUN, ['worker of a', ...(reader === 'dead' ? ['reader of a'] : [])])
      fixture.clock.pass(PAUSE_MS)
      await fixture.claim('a')
      await store.releaseReaders(['reader of a'])
      expect(await fixture.read('a')).toEqual([])
      expect(await fixture.read('main')).toEqual(['b: done'])
      await fixture.close()
    },
  )

  test('a drain ends with its attempt', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a', { retry: 1 })
    await fixture.push(actingFor(a), ['b', 'c'])
    await store.drain(RUN, actingFor(a), 1)
    await store.settle(a, failed('transient'))
    fixture.clock.pass(PAUSE_MS)
    await fixture.push(actingFor(await fixture.claim('a')), ['d'])
    expect(await fixture.states()).toMatchObject({ b: 'ended', c: 'ended', d: 'queued' })
    await fixture.close()
  })
}
