import { expect, test } from 'bun:test'
import type { StoreKind } from './store-kind.ts'
import { failed, RUN, TestStore } from './test-store.ts'

const NOTHING = { isReady: false, isRunning: false, cancelling: 0, nextReadyInMs: null }

export function testOutlook(kind: StoreKind): void {
  test('outlook covers started tasks that have not ended, without main', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await fixture.push('main', ['a'])
    expect(await store.outlook(RUN)).toEqual(NOTHING)
    await store.start(RUN, 'main')
    expect(await store.outlook(RUN)).toEqual({ ...NOTHING, isReady: true })
    const a = await fixture.claim('a')
    expect(await store.outlook(RUN)).toEqual({ ...NOTHING, isRunning: true })
    await store.cancel(RUN, 'a')
    expect(await store.outlook(RUN)).toEqual({ ...NOTHING, isRunning: true, cancelling: 1 })
    await store.settle(a, failed('cancelled'))
    expect(await store.outlook(RUN)).toEqual(NOTHING)
    await fixture.close()
  })

  test('the outlook of a retried task says when it may run', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await store.settle(await fixture.begin('main', 'a', { retry: 1 }), failed('transient'))
    const { isReady, nextReadyInMs } = await store.outlook(RUN)
    expect([isReady, nextReadyInMs! > 0]).toEqual([true, true])
    fixture.clock.pass(nextReadyInMs!)
    expect(await store.outlook(RUN)).toEqual({ ...NOTHING, isReady: true })
    await fixture.close()
  })

  test('claim takes the oldest task of all queues, started or drained', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const push = async (parent: string, name: string) => {
      await fixture.push(parent, [name])
      fixture.clock.pass(1)
    }
    await fixture.begin('main', 'a')
    await fixture.begin('main', 'b')
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
    for (const name of ['a1', 'm1', 'b1', 'b2', 'm2']) await fixture.claim(name)
    expect(await store.claim(RUN, 'w')).toBeNull()
    await fixture.close()
  })
}
