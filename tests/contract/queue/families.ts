import { expect, test } from 'bun:test'
import type { Home } from './home.ts'
import { DONE, RUN, Stage } from './stage.ts'

export function testFamilies(home: Home): void {
  test('a result whose parent has ended goes to the nearest live ancestor', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a')
    const b = await stage.begin('a', 'b')
    const c = await stage.begin('b', 'c')
    await store.settle(b, DONE)
    await store.settle(c, DONE)
    expect(await stage.read('a')).toEqual(['b: done', 'c: done'])
    await store.settle(a, DONE)
    expect((await stage.read('main')).toSorted()).toEqual(['a: done', 'b: done', 'c: done'])
    await stage.strike()
  })

  test('unread messages of an ended agent are forwarded', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a')
    await store.settle(await stage.begin('a', 'b'), DONE)
    await store.send({ id: 'm', run: RUN, from: 'main', to: 'a', body: 'hello' })
    await store.settle(a, DONE)
    const unread = ['a: done', 'b: done', 'main: hello']
    expect((await stage.read('main')).toSorted()).toEqual(unread)
    expect(await stage.read('a')).toEqual([])
    await stage.strike()
  })

  test('a leased result is forwarded only when its reader returns it', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a')
    await store.settle(await stage.begin('a', 'b'), DONE)
    await store.lease(RUN, 'a', {}, 'reader of a')
    await store.settle(a, DONE)
    expect(await stage.read('main')).toEqual(['a: done'])
    await store.releaseReaders(['reader of a'])
    expect((await stage.read('main')).toSorted()).toEqual(['a: done', 'b: done'])
    await stage.strike()
  })

  test('queued tasks are cancelled when their agent ends; started ones continue', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a')
    const b = await stage.begin('a', 'b')
    const c = await stage.begin('a', 'c', { onParentEnd: 'cancel' })
    await stage.push('a', ['d'])
    await store.settle(a, DONE)
    expect(await stage.states()).toEqual({ a: 'ended', b: 'running', c: 'running', d: 'ended' })
    expect(await store.beat(b)).toEqual({ isOurs: true })
    expect(await store.beat(c)).toMatchObject({ reason: 'cancelled', why: 'its parent a ended' })
    expect(await stage.read('main')).toEqual(['a: done', 'd: cancelled'])
    await stage.strike()
  })

  test('a drain keeps its width after its agent has ended', async () => {
    const stage = await Stage.set(home)
    const a = await stage.begin('main', 'a')
    await stage.push('a', ['b', 'c'])
    await stage.store.drain(RUN, 'a', 1)
    const b = await stage.claim('b')
    await stage.store.settle(a, DONE)
    expect(await stage.store.claim(RUN, 'w')).toBeNull()
    await stage.store.settle(b, DONE)
    await stage.claim('c')
    await stage.strike()
  })
}
