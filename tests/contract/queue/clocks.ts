import { expect, test } from 'bun:test'
import type { StoreKind } from './store-kind.ts'
import { failed, newMessage, RUN, TestStore } from './test-store.ts'

const HOUR = 3_600_000

/** The system clock may be set back; order and pauses must not be affected. */
export function testClocks(kind: StoreKind): void {
  test('tasks run in the order of their push even if the clock is set back', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    for (const name of ['a', 'b', 'c']) {
      await fixture.push('main', [name])
      fixture.clock.pass(-HOUR)
    }
    expect((await store.list(RUN)).map(({ name }) => name)).toEqual(['a', 'b', 'c'])
    expect((await store.start(RUN, 'main', 1)).started).toEqual(['a'])
    expect((await store.drain(RUN, 'main', 3)).started).toEqual(['b', 'c'])
    for (const name of ['a', 'b', 'c']) await fixture.claim(name)
    await fixture.close()
  })

  test('messages are read in the order they were sent even if the clock is set back', async () => {
    const fixture = await TestStore.open(kind)
    for (const body of ['1', '2', '3']) {
      await fixture.store.send(newMessage('main', 'main', body))
      fixture.clock.pass(-HOUR)
    }
    expect(await fixture.read('main')).toEqual(['main: 1', 'main: 2', 'main: 3'])
    await fixture.close()
  })

  test('a pause does not get longer if the clock is set back', async () => {
    const fixture = await TestStore.open(kind, { times: { firstPauseMs: 1000 } })
    const { store } = fixture
    await store.settle(await fixture.begin('main', 'a', { retry: 1 }), failed('transient'))
    fixture.clock.pass(-HOUR)
    expect((await store.outlook(RUN)).nextReadyInMs).toBeWithin(0, 1001)
    // Like a worker pool: claims what is ready and sleeps until the next task is due.
    expect(await store.claim(RUN, 'w')).toBeNull()
    const { nextReadyInMs } = await store.outlook(RUN)
    expect(nextReadyInMs).toBeWithin(500, 1001)
    fixture.clock.pass(nextReadyInMs!)
    await fixture.claim('a')
    await fixture.close()
  })

  test('a retry delay keeps its length if the clock is set back', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await fixture.push('main', ['a'])
    await store.start(RUN, 'main')
    const [task] = await store.list(RUN)
    await store.postpone(RUN, [task!.id], 2 * HOUR)
    fixture.clock.pass(-HOUR)
    expect(await store.claim(RUN, 'w')).toBeNull()
    expect((await store.outlook(RUN)).nextReadyInMs).toBe(2 * HOUR)
    await fixture.close()
  })
}
