import { expect, test } from 'bun:test'
import { actingFor } from '../../../src/queue/task.ts'
import type { Home } from './home.ts'
import { DONE, failed, newMessage, RUN, Stage } from './stage.ts'

const PAUSE_MS = 1000

export function testRetries(home: Home): void {
  test('a retried task keeps the tasks that its prompt pushed, and their results', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a', { retry: 1 })
    const b = await stage.begin(actingFor(a), 'b', { isForAllAttempts: true })
    await stage.push(actingFor(a), ['c'], { isForAllAttempts: true })
    await store.settle(b, DONE)
    await store.settle(a, failed('transient'))
    expect(await stage.states()).toEqual({ a: 'ready', b: 'ended', c: 'queued' })
    expect(await stage.read('a')).toEqual(['b: done'])
    expect(await stage.read('main')).toEqual([])
    await stage.strike()
  })

  test('tasks that an attempt pushed itself end with it, and their names can be reused', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a', { retry: 1 })
    const worked = await stage.begin(actingFor(a), 'worked', { retry: 5 })
    await stage.push(actingFor(a), ['queued'])
    await store.settle(a, failed('lost'))
    expect(await stage.states()).toEqual({ a: 'ready', worked: 'running', queued: 'ended' })
    const why = 'attempt 1 of a is over'
    expect(await store.beat(worked)).toEqual({ isOurs: false, reason: 'cancelled', why })
    stage.clock.pass(PAUSE_MS)
    const again = await stage.claim('a')
    expect(await store.settle(worked, failed('transient'))).toBe('ended')
    expect(await stage.read('a')).toEqual([])
    expect(await stage.read('main')).toEqual(['queued: cancelled', 'worked: cancelled'])
    await stage.push(actingFor(again), ['worked', 'queued'])
    await stage.strike()
  })

  test('tasks that an attempt pushed can be cancelled before it is settled', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a', { retry: 1 })
    const own = await stage.begin(actingFor(a), 'own', { retry: 5 })
    await stage.begin(actingFor(a), 'of-all', { isForAllAttempts: true })
    await store.abandon(a)
    const why = 'attempt 1 of a is over'
    expect(await store.beat(own)).toEqual({ isOurs: false, reason: 'cancelled', why })
    await store.settle(own, failed('transient'))
    await store.settle(a, failed('transient'))
    expect(await stage.states()).toEqual({ a: 'ready', own: 'ended', 'of-all': 'running' })
    expect(await stage.read('main')).toEqual(['own: cancelled'])
    await store.abandon(a)
    expect(await stage.states()).toEqual({ a: 'ready', own: 'ended', 'of-all': 'running' })
    await stage.strike()
  })

  test('an attempt that is lost together with its tasks leaves nothing to the next', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a', { retry: 1 })
    await stage.begin(actingFor(a), 'b', { retry: 1 })
    const dead = ['worker of a', 'worker of b']
    const expired = await store.expire(RUN, dead)
    expect(expired.map(({ task, settled }) => [task.name, settled])).toEqual([
      ['a', 'retrying'],
      ['b', 'ended'],
    ])
    stage.clock.pass(PAUSE_MS)
    const again = await stage.claim('a')
    const b = await stage.begin(actingFor(again), 'b')
    await store.settle(b, { ...DONE, output: 'the second' })
    expect(await stage.read('a')).toEqual(['b: the second'])
    expect(await stage.read('main')).toEqual(['b: cancelled'])
    await stage.strike()
  })

  test('unread answers of an attempt are forwarded, and messages from others stay', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a', { retry: 1 })
    const b = await stage.begin(actingFor(a), 'b')
    const c = await stage.begin(actingFor(b), 'c')
    await store.settle(b, DONE)
    await store.send(newMessage('c', 'a', 'half'))
    await store.send(newMessage('main', 'a', 'hello'))
    await store.settle(a, failed('transient'))
    await store.settle(c, DONE)
    expect(await stage.read('a')).toEqual(['main: hello'])
    expect(await stage.read('main')).toEqual(['b: done', 'c: half', 'c: done'])
    await stage.strike()
  })

  test.each(['dead', 'alive'])(
    'an answer that is leased to a reader that is %s when its attempt ends is not for the next attempt',
    async (reader) => {
      const stage = await Stage.set(home)
      const { store } = stage
      const a = await stage.begin('main', 'a', { retry: 1 })
      await store.settle(await stage.begin(actingFor(a), 'b'), DONE)
      await store.lease(RUN, actingFor(a), {}, 'reader of a')
      await store.expire(RUN, ['worker of a', ...(reader === 'dead' ? ['reader of a'] : [])])
      stage.clock.pass(PAUSE_MS)
      await stage.claim('a')
      await store.releaseReaders(['reader of a'])
      expect(await stage.read('a')).toEqual([])
      expect(await stage.read('main')).toEqual(['b: done'])
      await stage.strike()
    },
  )

  test('a drain ends with its attempt', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a', { retry: 1 })
    await stage.push(actingFor(a), ['b', 'c'])
    await store.drain(RUN, actingFor(a), 1)
    await store.settle(a, failed('transient'))
    stage.clock.pass(PAUSE_MS)
    await stage.push(actingFor(await stage.claim('a')), ['d'])
    expect(await stage.states()).toMatchObject({ b: 'ended', c: 'ended', d: 'queued' })
    await stage.strike()
  })
}
