import { expect, test } from 'bun:test'
import type { Home } from './home.ts'
import { failed, newMessage, RUN, Stage } from './stage.ts'

const HOUR = 3_600_000

/** The system clock may be set back; order and pauses must not be affected. */
export function testClocks(home: Home): void {
  test('tasks run in the order of their push even if the clock is set back', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    for (const name of ['a', 'b', 'c']) {
      await stage.push('main', [name])
      stage.clock.pass(-HOUR)
    }
    expect((await store.list(RUN)).map(({ name }) => name)).toEqual(['a', 'b', 'c'])
    expect((await store.start(RUN, 'main', 1)).started).toEqual(['a'])
    expect((await store.drain(RUN, 'main', 3)).started).toEqual(['b', 'c'])
    for (const name of ['a', 'b', 'c']) await stage.claim(name)
    await stage.strike()
  })

  test('messages are read in the order they were sent even if the clock is set back', async () => {
    const stage = await Stage.set(home)
    for (const body of ['1', '2', '3']) {
      await stage.store.send(newMessage('main', 'main', body))
      stage.clock.pass(-HOUR)
    }
    expect(await stage.read('main')).toEqual(['main: 1', 'main: 2', 'main: 3'])
    await stage.strike()
  })

  test('a pause does not get longer if the clock is set back', async () => {
    const stage = await Stage.set(home, { times: { firstPauseMs: 1000 } })
    const { store } = stage
    await store.settle(await stage.begin('main', 'a', { retry: 1 }), failed('transient'))
    stage.clock.pass(-HOUR)
    expect((await store.outlook(RUN)).nextReadyInMs).toBeWithin(0, 1001)
    // Like a worker pool: claims what is ready and sleeps until the next task is due.
    expect(await store.claim(RUN, 'w')).toBeNull()
    const { nextReadyInMs } = await store.outlook(RUN)
    expect(nextReadyInMs).toBeWithin(500, 1001)
    stage.clock.pass(nextReadyInMs!)
    await stage.claim('a')
    await stage.strike()
  })

  test('a retry delay keeps its length if the clock is set back', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    await stage.push('main', ['a'])
    await store.start(RUN, 'main')
    const [task] = await store.list(RUN)
    await store.postpone(RUN, [task!.id], 2 * HOUR)
    stage.clock.pass(-HOUR)
    expect(await store.claim(RUN, 'w')).toBeNull()
    expect((await store.outlook(RUN)).nextReadyInMs).toBe(2 * HOUR)
    await stage.strike()
  })
}
