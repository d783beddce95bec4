import { expect, test } from 'bun:test'
import type { Home } from './home.ts'
import { DONE, failed, refusalOf, RUN, Stage } from './stage.ts'

const NOTHING = { isReady: false, isRunning: false, cancelling: 0, nextReadyInMs: null }

export function testOutlook(home: Home): void {
  test('outlook covers started tasks that have not ended, without main', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    await stage.push('main', ['a'])
    expect(await store.outlook(RUN)).toEqual(NOTHING)
    await store.start(RUN, 'main')
    expect(await store.outlook(RUN)).toEqual({ ...NOTHING, isReady: true })
    const a = await stage.claim('a')
    expect(await store.outlook(RUN)).toEqual({ ...NOTHING, isRunning: true })
    await store.cancel(RUN, 'a')
    expect(await store.outlook(RUN)).toEqual({ ...NOTHING, isRunning: true, cancelling: 1 })
    await store.settle(a, failed('cancelled'))
    expect(await store.outlook(RUN)).toEqual(NOTHING)
    await stage.strike()
  })

  test('the outlook of an agent covers only its own tasks', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    await stage.begin('main', 'a')
    expect(await store.outlook(RUN, 'main')).toEqual({ ...NOTHING, isRunning: true })
    expect(await store.outlook(RUN, 'a')).toEqual(NOTHING)
    const b = await stage.begin('a', 'b', { retry: 1 })
    expect(await store.outlook(RUN, 'a')).toEqual({ ...NOTHING, isRunning: true })
    expect(await store.outlook(RUN, 'b')).toEqual(NOTHING)
    await store.settle(b, failed('transient'))
    const { isReady, nextReadyInMs } = await store.outlook(RUN, 'a')
    expect([isReady, nextReadyInMs! > 0]).toEqual([true, true])
    expect((await store.outlook(RUN, 'main')).nextReadyInMs).toBeNull()
    expect((await store.outlook(RUN)).nextReadyInMs).toBe(nextReadyInMs)
    stage.clock.pass(nextReadyInMs!)
    expect(await store.outlook(RUN, 'a')).toEqual({ ...NOTHING, isReady: true })
    await store.settle(await stage.claim('b'), DONE)
    expect(await store.outlook(RUN, 'a')).toEqual(NOTHING)
    expect((await refusalOf(store.outlook(RUN, 'nobody'))).kind).toBe('unknown_agent')
    await stage.strike()
  })

  test('claim takes the oldest task of all queues, started or drained', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const push = async (parent: string, name: string) => {
      await stage.push(parent, [name])
      stage.clock.pass(1)
    }
    await stage.begin('main', 'a')
    await stage.begin('main', 'b')
    for (const [parent, name] of [
      ['a', 'a1'],
      ['main', 'm1'],
      ['b', 'b1'],
      ['a', 'a2'],
      ['b', 'b2'],
      ['main', 'm2'],
    ] as const) {
      await push(parent, name)
    }
    await store.start(RUN, 'main')
    await store.drain(RUN, 'b', 2)
    await store.drain(RUN, 'a', 1)
    for (const name of ['a1', 'm1', 'b1', 'b2', 'm2']) await stage.claim(name)
    expect(await store.claim(RUN, 'w')).toBeNull()
    await stage.strike()
  })
}
