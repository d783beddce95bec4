import { expect, test } from 'bun:test'
import type { StoreKind } from './store-kind.ts'
import { DONE, RUN, TestStore } from './test-store.ts'

export function testAncestors(kind: StoreKind): void {
  test('a result whose parent has ended goes to the nearest live ancestor', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a')
    const b = await fixture.begin('a', 'b')
    const c = await fixture.begin('b', 'c')
    await store.settle(b, DONE)
    await store.settle(c, DONE)
    expect(await fixture.read('a')).toEqual(['b: done', 'c: done'])
    await store.settle(a, DONE)
    expect((await fixture.read('main')).toSorted()).toEqual(['a: done', 'b: done', 'c: done'])
    await fixture.close()
  })

  test('unread messages of an ended agent are forwarded', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a')
    await store.settle(await fixture.begin('a', 'b'), DONE)
    await store.send({ id: 'm', run: RUN, from: 'main', to: 'a', body: 'hello' })
    await store.settle(a, DONE)
    const unread = ['a: done', 'b: done', 'main: hello']
    expect((await fixture.read('main')).toSorted()).toEqual(unread)
    expect(await fixture.read('a')).toEqual([])
    await fixture.close()
  })

  test('a leased result is forwarded only when its reader returns it', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a')
    await store.settle(await fixture.begin('a', 'b'), DONE)
    await store.lease(RUN, 'a', {}, 'reader of a')
    await store.settle(a, DONE)
    expect(await fixture.read('main')).toEqual(['a: done'])
    await store.releaseReaders(['reader of a'])
    expect((await fixture.read('main')).toSorted()).toEqual(['a: done', 'b: done'])
    await fixture.close()
  })

  test('queued tasks are cancelled when their agent ends; started ones continue', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a')
    const b = await fixture.begin('a', 'b')
    const c = await fixture.begin('a', 'c', { onParentEnd: 'cancel' })
    await fixture.push('a', ['d'])
    await store.settle(a, DONE)
    expect(await fixture.states()).toEqual({ a: 'ended', b: 'running', c: 'running', d: 'ended' })
    expect(await store.heartbeat(b)).toEqual({ isOurs: true })
    expect(await store.heartbeat(c)).toMatchObject({
      reason: 'cancelled',
      why: 'its parent a ended',
    })
    expect(await fixture.read('main')).toEqual(['a: done', 'd: cancelled'])
    await fixture.close()
  })

  test('a drain keeps its width after its agent has ended', async () => {
    const fixture = await TestStore.open(kind)
    const a = await fixture.begin('main', 'a')
    await fixture.push('a', ['b', 'c'])
    await fixture.store.drain(RUN, 'a', 1)
    const b = await fixture.claim('b')
    await fixture.store.settle(a, DONE)
    expect(await fixture.store.claim(RUN, 'w')).toBeNull()
    await fixture.store.settle(b, DONE)
    await fixture.claim('c')
    await fixture.close()
  })
}
