import { expect, test } from 'bun:test'
import type { StoreKind } from './store-kind.ts'
import { DONE, failed, newTask, refusalOf, RUN, TestStore } from './test-store.ts'

export function testTasks(kind: StoreKind): void {
  test('a task is queued, ready, running and ended, and its result is in the inbox of its parent', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.push('main', ['a'], { model: 'small', timeoutMs: 5 })
    expect(await fixture.states()).toEqual({ a: 'queued' })
    expect(await fixture.store.claim(RUN, 'w')).toBeNull()
    expect(await fixture.store.start(RUN, 'main')).toEqual({ started: ['a'], held: 0 })
    expect(await fixture.states()).toEqual({ a: 'ready' })
    const claim = await fixture.claim('a')
    expect(claim).toMatchObject({ attempt: 1, task: { depth: 1, prompt: 'Do a' } })
    expect(claim.task.options).toEqual({ model: 'small', timeoutMs: 5 })
    expect(await fixture.store.settle(claim, { ...DONE, cost: 0.5 })).toBe('ended')
    const [lease] = await fixture.store.lease(RUN, 'main', {}, 'reader')
    expect(lease!.message).toMatchObject({
      kind: 'result',
      from: 'a',
      task: claim.task.id,
      attempt: 1,
      end: { success: true, output: 'done', cost: 0.5 },
    })
    const [task] = await fixture.store.list(RUN, { agent: 'main' })
    expect((await fixture.store.task(RUN, task!.id))?.end).toEqual({ ...DONE, cost: 0.5 })
    await fixture.close()
  })

  test('openRun is idempotent', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.push('main', ['a'])
    await fixture.store.openRun(RUN)
    expect(await fixture.states()).toEqual({ a: 'queued' })
    await fixture.close()
  })

  test('a repeated push takes effect once, even after the task has ended', async () => {
    const fixture = await TestStore.open(kind)
    const task = newTask('main', 'a')
    await fixture.store.push([task])
    await fixture.store.push([task, newTask('main', 'b')])
    expect(Object.keys(await fixture.states())).toEqual(['a', 'b'])
    await fixture.store.start(RUN, 'main')
    await fixture.store.settle(await fixture.claim('a'), DONE)
    await fixture.store.push([task])
    expect(await fixture.states()).toEqual({ a: 'ended', b: 'ready' })
    await fixture.close()
  })

  test('a refused push changes nothing', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.push('main', ['a'])
    expect(await refusalOf(fixture.push('main', ['b', 'a']))).toEqual({
      kind: 'name_taken',
      name: 'a',
    })
    expect(await fixture.states()).toEqual({ a: 'queued' })
    await fixture.close()
  })

  test('a name can be reused once its task has ended, but never main', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.store.settle(await fixture.begin('main', 'a'), DONE)
    await fixture.push('main', ['a'])
    expect((await refusalOf(fixture.push('main', ['main']))).kind).toBe('name_of_agent')
    await fixture.close()
  })

  test('an unknown or ended agent cannot push', async () => {
    const fixture = await TestStore.open(kind)
    expect(await refusalOf(fixture.push('nobody', ['a']))).toEqual({
      kind: 'unknown_agent',
      name: 'nobody',
    })
    await fixture.store.settle(await fixture.begin('main', 'a'), DONE)
    expect(await refusalOf(fixture.push('a', ['b']))).toEqual({ kind: 'agent_ended', name: 'a' })
    const other = { ...newTask('main', 'x'), run: 'other' }
    expect(await refusalOf(fixture.store.push([other]))).toEqual({
      kind: 'unknown_run',
      run: 'other',
    })
    await fixture.close()
  })

  test('tasks beyond the depth limit are refused', async () => {
    const fixture = await TestStore.open(kind, { limits: { depth: 2 } })
    await fixture.begin('main', 'a')
    await fixture.begin('a', 'b')
    expect(await refusalOf(fixture.push('b', ['c']))).toEqual({
      kind: 'too_deep',
      depth: 3,
      limit: 2,
    })
    await fixture.close()
  })

  test('a full queue refuses more tasks, and counts reports the capacity', async () => {
    const fixture = await TestStore.open(kind, { limits: { queued: 3 } })
    await fixture.push('main', ['a', 'b'])
    const refusal = await refusalOf(fixture.push('main', ['c', 'd']))
    expect(refusal).toEqual({ kind: 'queue_full', waiting: 4, limit: 3 })
    expect(await fixture.store.counts(RUN)).toMatchObject({
      queued: 2,
      queueLeft: 1,
      slotsLeft: 16,
    })
    await fixture.store.drain(RUN, 'main', 1)
    expect((await refusalOf(fixture.push('main', ['c', 'd']))).kind).toBe('queue_full')
    await fixture.close()
  })

  test('prompts, messages and results have a size limit', async () => {
    const fixture = await TestStore.open(kind, { limits: { messageBytes: 10 } })
    const big = 'ü'.repeat(6)
    const tooBig = (what: string) => ({ kind: 'too_big', what, bytes: 12, limit: 10 }) as const
    const { store } = fixture
    const task = { ...newTask('main', 'a'), prompt: big }
    expect(await refusalOf(store.push([task]))).toEqual(tooBig('prompt') as never)
    const message = { id: 'm', run: RUN, from: 'main', to: 'main', body: big }
    expect(await refusalOf(store.send(message))).toEqual(tooBig('message') as never)
    await store.push([{ ...task, prompt: 'ü'.repeat(5) }])
    await store.start(RUN, 'main')
    const claim = await fixture.claim('a')
    const end = { success: true, output: big } as const
    expect(await refusalOf(store.settle(claim, end))).toEqual(tooBig('result') as never)
    expect(await store.settle(claim, DONE)).toBe('ended')
    await fixture.close()
  })

  test('start begins with the oldest tasks and stops at the limit', async () => {
    const fixture = await TestStore.open(kind, { limits: { running: 3 } })
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await fixture.push('main', [name])
      fixture.clock.pass(1)
    }
    expect(await fixture.store.start(RUN, 'main', 2)).toEqual({ started: ['a', 'b'], held: 0 })
    expect(await fixture.store.start(RUN, 'main')).toEqual({ started: ['c'], held: 2 })
    for (const name of ['a', 'b', 'c']) await fixture.claim(name)
    expect(await fixture.store.claim(RUN, 'w')).toBeNull()
    expect(await fixture.store.start(RUN, 'main')).toEqual({ started: [], held: 2 })
    await fixture.close()
  })

  test('tasks with the same time keep their order', async () => {
    const fixture = await TestStore.open(kind)
    const names = ['z', 'a', 'm', 'b']
    await fixture.push('main', names)
    expect((await fixture.store.start(RUN, 'main')).started).toEqual(names)
    for (const name of names) await fixture.claim(name)
    await fixture.close()
  })

  test('a drain respects its width, includes later pushes, and ends', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.push('main', ['a', 'b', 'c'])
    expect(await fixture.store.drain(RUN, 'main', 2)).toEqual({ started: ['a', 'b', 'c'], held: 0 })
    const [a, b] = [await fixture.claim('a'), await fixture.claim('b')]
    expect(await fixture.store.claim(RUN, 'w')).toBeNull()
    await fixture.push('main', ['d'])
    expect((await fixture.states())['d']).toBe('ready')
    await fixture.store.settle(a, DONE)
    const c = await fixture.claim('c')
    expect(await fixture.store.claim(RUN, 'w')).toBeNull()
    await fixture.store.settle(b, failed('fatal'))
    const d = await fixture.claim('d')
    await fixture.store.settle(c, DONE)
    await fixture.store.settle(d, DONE)
    await fixture.push('main', ['e'])
    expect((await fixture.states())['e']).toBe('queued')
    await fixture.close()
  })

  test('the limit of running tasks applies to drains, and a drain at full width does not block others', async () => {
    const fixture = await TestStore.open(kind, { limits: { running: 3 } })
    await fixture.begin('main', 'a')
    await fixture.push('main', ['b', 'c'])
    await fixture.store.drain(RUN, 'main', 1)
    await fixture.claim('b')
    await fixture.push('a', ['d', 'e'])
    await fixture.store.drain(RUN, 'a', 50)
    await fixture.claim('d')
    expect(await fixture.store.claim(RUN, 'w')).toBeNull()
    await fixture.close()
  })

  test('a drain of an empty queue ends at once', async () => {
    const fixture = await TestStore.open(kind)
    expect(await fixture.store.drain(RUN, 'main', 2)).toEqual({ started: [], held: 0 })
    await fixture.push('main', ['a'])
    expect(await fixture.states()).toEqual({ a: 'queued' })
    await fixture.close()
  })

  test('ages are measured by the clock of the store', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.begin('main', 'a')
    fixture.clock.pass(2500)
    expect((await fixture.store.list(RUN))[0]).toMatchObject({ state: 'running', ageMs: 2500 })
    await fixture.close()
  })
}
