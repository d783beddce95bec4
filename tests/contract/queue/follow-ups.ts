import { expect, test } from 'bun:test'
import { actingFor, type FollowUp } from '../../../src/queue/task.ts'
import type { Home } from './home.ts'
import { DONE, failed, RUN, Stage } from './stage.ts'

const AFTER: FollowUp = { id: 'after-1', name: 'after', prompt: 'Tidy up' }

export function testFollowUps(home: Home): void {
  test('follow-up tasks are queued with the end of their task, once, for its parent', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a')
    expect(await store.settle(a, DONE, undefined, [AFTER])).toBe('ended')
    expect(await store.settle(a, DONE, undefined, [{ ...AFTER, id: 'after-2' }])).toBe('fenced')
    expect(await stage.states()).toEqual({ a: 'ended', after: 'queued' })
    expect((await store.task(RUN, 'after-1'))?.parent).toBe(a.task.parent)
    await stage.strike()
  })

  test('an attempt that is retried has no follow-up tasks', async () => {
    const stage = await Stage.set(home)
    const a = await stage.begin('main', 'a', { retry: 1 })
    expect(await stage.store.settle(a, failed('transient'), undefined, [AFTER])).toBe('retrying')
    expect(await stage.states()).toEqual({ a: 'ready' })
    await stage.strike()
  })

  test('follow-up tasks are queued if a cancelled task is not retried', async () => {
    const stage = await Stage.set(home)
    const a = await stage.begin('main', 'a', { retry: 1 })
    await stage.store.cancel(RUN, 'a')
    expect(await stage.store.settle(a, failed('transient'), undefined, [AFTER])).toBe('ended')
    expect(await stage.states()).toEqual({ a: 'ended', after: 'queued' })
    await stage.strike()
  })

  test('follow-up tasks go to the nearest live ancestor if the parent has ended', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a')
    const b = await stage.begin(actingFor(a), 'b')
    const c = await stage.begin(actingFor(b), 'c')
    await store.settle(b, DONE)
    await store.settle(c, DONE, undefined, [AFTER])
    expect((await store.task(RUN, 'after-1'))?.parent).toBe(a.task.id)
    await stage.strike()
  })

  test('follow-up tasks of a drained task are also drained', async () => {
    const stage = await Stage.set(home)
    await stage.push('main', ['a'])
    await stage.store.drain(RUN, 'main', 1)
    await stage.store.settle(await stage.claim('a'), DONE, undefined, [AFTER])
    await stage.claim('after')
    await stage.strike()
  })

  test('follow-up tasks of a lost task are queued if it is not retried', async () => {
    const stage = await Stage.set(home)
    await stage.begin('main', 'a')
    await stage.begin('main', 'b', { retry: 1 })
    const left = new Map(
      (await stage.store.list(RUN)).map(({ id, name }) => [
        id,
        { follow: [{ ...AFTER, id: `after-${name}`, name: `after-${name}` }] },
      ]),
    )
    await stage.store.expire(RUN, ['worker of a', 'worker of b'], left)
    expect(await stage.states()).toEqual({ a: 'ended', b: 'ready', 'after-a': 'queued' })
    await stage.strike()
  })

  test('refused follow-up tasks are listed in the end, and the others are queued', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a')
    const b = await stage.begin('main', 'b')
    await stage.push('main', ['after'])
    const followOf = (name: string) =>
      [`${name}-1`, 'after', name].map((each) => ({ ...AFTER, id: `${name} ${each}`, name: each }))
    const refused = [{ name: 'after', error: "A task named 'after' is not over yet." }]
    expect(await store.settle(a, DONE, undefined, followOf('a'))).toBe('ended')
    expect((await store.task(RUN, a.task.id))?.end).toMatchObject({ ...DONE, notQueued: refused })
    const left = new Map([[b.task.id, { follow: followOf('b') }]])
    const [expired] = await store.expire(RUN, ['worker of b'], left)
    expect(expired?.task.end).toMatchObject({ success: false, notQueued: refused })
    const queued = await store.list(RUN, { states: ['queued'] })
    expect(queued.map(({ name }) => name)).toEqual(['after', 'a-1', 'a', 'b-1', 'b'])
    expect(await stage.read('main')).toEqual(['a: done', 'b: lost'])
    await stage.strike()
  })
}
