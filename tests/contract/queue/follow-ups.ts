import { expect, test } from 'bun:test'
import { actingFor, type FollowUp } from '../../../src/queue/task.ts'
import type { StoreKind } from './store-kind.ts'
import { DONE, failed, RUN, TestStore } from './test-store.ts'

const AFTER: FollowUp = { id: 'after-1', name: 'after', prompt: 'Tidy up' }

export function testFollowUps(kind: StoreKind): void {
  test('follow-up tasks are queued with the end of their task, once, for its parent', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a')
    expect(await store.settle(a, DONE, undefined, [AFTER])).toBe('ended')
    expect(await store.settle(a, DONE, undefined, [{ ...AFTER, id: 'after-2' }])).toBe('fenced')
    expect(await fixture.states()).toEqual({ a: 'ended', after: 'queued' })
    expect((await store.task(RUN, 'after-1'))?.parent).toBe(a.task.parent)
    await fixture.close()
  })

  test('an attempt that is retried has no follow-up tasks', async () => {
    const fixture = await TestStore.open(kind)
    const a = await fixture.begin('main', 'a', { retry: 1 })
    expect(await fixture.store.settle(a, failed('transient'), undefined, [AFTER])).toBe('retrying')
    expect(await fixture.states()).toEqual({ a: 'ready' })
    await fixture.close()
  })

  test('follow-up tasks are queued if a cancelled task is not retried', async () => {
    const fixture = await TestStore.open(kind)
    const a = await fixture.begin('main', 'a', { retry: 1 })
    await fixture.store.cancel(RUN, 'a')
    expect(await fixture.store.settle(a, failed('transient'), undefined, [AFTER])).toBe('ended')
    expect(await fixture.states()).toEqual({ a: 'ended', after: 'queued' })
    await fixture.close()
  })

  test('follow-up tasks go to the nearest live ancestor if the parent has ended', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a')
    const b = await fixture.begin(actingFor(a), 'b')
    const c = await fixture.begin(actingFor(b), 'c')
    await store.settle(b, DONE)
    await store.settle(c, DONE, undefined, [AFTER])
    expect((await store.task(RUN, 'after-1'))?.parent).toBe(a.task.id)
    await fixture.close()
  })

  test('follow-up tasks of a drained task are also drained', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.push('main', ['a'])
    await fixture.store.drain(RUN, 'main', 1)
    await fixture.store.settle(await fixture.claim('a'), DONE, undefined, [AFTER])
    await fixture.claim('after')
    await fixture.close()
  })

  test('follow-up tasks of a lost task are queued if it is not retried', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.begin('main', 'a')
    await fixture.begin('main', 'b', { retry: 1 })
    const left = new Map(
      (await fixture.store.list(RUN)).map(({ id, name }) => [
        id,
        { follow: [{ ...AFTER, id: `after-${name}`, name: `after-${name}` }] },
      ]),
    )
    await fixture.store.expire(RUN, ['worker of a', 'worker of b'], left)
    expect(await fixture.states()).toEqual({ a: 'ended', b: 'ready', 'after-a': 'queued' })
    await fixture.close()
  })

  test('refused follow-up tasks are listed in the end, and the others are queued', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a')
    const b = await fixture.begin('main', 'b')
    await fixture.push('main', ['after'])
    const followOf = (name: string) =>
      [`${name}-1`, 'after', name].map((each) => ({ ...AFTER, id: `${name} ${each}`, name: each }))
    const refused = [{ name: 'after', error: "A task named 'after' has not ended yet." }]
    expect(await store.settle(a, DONE, undefined, followOf('a'))).toBe('ended')
    expect((await store.task(RUN, a.task.id))?.end).toMatchObject({ ...DONE, notQueued: refused })
    const left = new Map([[b.task.id, { follow: followOf('b') }]])
    const [expired] = await store.expire(RUN, ['worker of b'], left)
    expect(expired?.task.end).toMatchObject({ success: false, notQueued: refused })
    const queued = await store.list(RUN, { states: ['queued'] })
    expect(queued.map(({ name }) => name)).toEqual(['after', 'a-1', 'a', 'b-1', 'b'])
    expect(await fixture.read('main')).toEqual(['a: done', 'b: lost'])
    await fixture.close()
  })
}
