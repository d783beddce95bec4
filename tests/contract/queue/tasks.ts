import { expect, test } from 'bun:test'
import type { Home } from './home.ts'
import { DONE, failed, newTask, refusalOf, RUN, Stage } from './stage.ts'

export function testTasks(home: Home): void {
  test('a task is queued, ready, running and ended, and its result is in the inbox of its parent', async () => {
    const stage = await Stage.set(home)
    await stage.push('main', ['a'], { model: 'small', timeoutMs: 5 })
    expect(await stage.states()).toEqual({ a: 'queued' })
    expect(await stage.store.claim(RUN, 'w')).toBeNull()
    expect(await stage.store.start(RUN, 'main')).toEqual({ started: ['a'], held: 0 })
    expect(await stage.states()).toEqual({ a: 'ready' })
    const claim = await stage.claim('a')
    expect(claim).toMatchObject({ attempt: 1, task: { depth: 1, prompt: 'Do a' } })
    expect(claim.task.options).toEqual({ model: 'small', timeoutMs: 5 })
    expect(await stage.store.settle(claim, { ...DONE, cost: 0.5 })).toBe('ended')
    const [lease] = await stage.store.lease(RUN, 'main', {}, 'reader')
    expect(lease!.message).toMatchObject({
      kind: 'result',
      from: 'a',
      task: claim.task.id,
      attempt: 1,
      end: { success: true, output: 'done', cost: 0.5 },
    })
    const [task] = await stage.store.list(RUN, { agent: 'main' })
    expect((await stage.store.task(RUN, task!.id))?.end).toEqual({ ...DONE, cost: 0.5 })
    await stage.strike()
  })

  test('openRun is idempotent', async () => {
    const stage = await Stage.set(home)
    await stage.push('main', ['a'])
    await stage.store.openRun(RUN)
    expect(await stage.states()).toEqual({ a: 'queued' })
    await stage.strike()
  })

  test('a repeated push takes effect once, even after the task has ended', async () => {
    const stage = await Stage.set(home)
    const task = newTask('main', 'a')
    await stage.store.push([task])
    await stage.store.push([task, newTask('main', 'b')])
    expect(Object.keys(await stage.states())).toEqual(['a', 'b'])
    await stage.store.start(RUN, 'main')
    await stage.store.settle(await stage.claim('a'), DONE)
    await stage.store.push([task])
    expect(await stage.states()).toEqual({ a: 'ended', b: 'ready' })
    await stage.strike()
  })

  test('a refused push changes nothing', async () => {
    const stage = await Stage.set(home)
    await stage.push('main', ['a'])
    expect(await refusalOf(stage.push('main', ['b', 'a']))).toEqual({
      kind: 'name_taken',
      name: 'a',
    })
    expect(await stage.states()).toEqual({ a: 'queued' })
    await stage.strike()
  })

  test('a name can be reused once its task has ended, but never main', async () => {
    const stage = await Stage.set(home)
    await stage.store.settle(await stage.begin('main', 'a'), DONE)
    await stage.push('main', ['a'])
    expect((await refusalOf(stage.push('main', ['main']))).kind).toBe('name_taken')
    await stage.strike()
  })

  test('an unknown or ended agent cannot push', async () => {
    const stage = await Stage.set(home)
    expect(await refusalOf(stage.push('nobody', ['a']))).toEqual({
      kind: 'unknown_agent',
      name: 'nobody',
    })
    await stage.store.settle(await stage.begin('main', 'a'), DONE)
    expect(await refusalOf(stage.push('a', ['b']))).toEqual({ kind: 'agent_ended', name: 'a' })
    const other = { ...newTask('main', 'x'), run: 'other' }
    expect(await refusalOf(stage.store.push([other]))).toEqual({
      kind: 'unknown_run',
      run: 'other',
    })
    await stage.strike()
  })

  test('tasks beyond the depth limit are refused', async () => {
    const stage = await Stage.set(home, { limits: { depth: 2 } })
    await stage.begin('main', 'a')
    await stage.begin('a', 'b')
    expect(await refusalOf(stage.push('b', ['c']))).toEqual({
      kind: 'too_deep',
      depth: 3,
      limit: 2,
    })
    await stage.strike()
  })

  test('a full queue refuses more tasks, and counts reports the capacity', async () => {
    const stage = await Stage.set(home, { limits: { queued: 3 } })
    await stage.push('main', ['a', 'b'])
    const refusal = await refusalOf(stage.push('main', ['c', 'd']))
    expect(refusal).toEqual({ kind: 'queue_full', waiting: 4, limit: 3 })
    expect(await stage.store.counts(RUN)).toMatchObject({ queued: 2, queueLeft: 1, slotsLeft: 16 })
    await stage.store.drain(RUN, 'main', 1)
    expect((await refusalOf(stage.push('main', ['c', 'd']))).kind).toBe('queue_full')
    await stage.strike()
  })

  test('prompts, messages and results have a size limit', async () => {
    const stage = await Stage.set(home, { limits: { messageBytes: 10 } })
    const big = 'ü'.repeat(6)
    const tooBig = (what: string) => ({ kind: 'too_big', what, bytes: 12, limit: 10 }) as const
    const { store } = stage
    const task = { ...newTask('main', 'a'), prompt: big }
    expect(await refusalOf(store.push([task]))).toEqual(tooBig('prompt') as never)
    const message = { id: 'm', run: RUN, from: 'main', to: 'main', body: big }
    expect(await refusalOf(store.send(message))).toEqual(tooBig('message') as never)
    await store.push([{ ...task, prompt: 'ü'.repeat(5) }])
    await store.start(RUN, 'main')
    const claim = await stage.claim('a')
    const end = { success: true, output: big } as const
    expect(await refusalOf(store.settle(claim, end))).toEqual(tooBig('result') as never)
    expect(await store.settle(claim, DONE)).toBe('ended')
    await stage.strike()
  })

  test('start begins with the oldest tasks and stops at the limit', async () => {
    const stage = await Stage.set(home, { limits: { running: 3 } })
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await stage.push('main', [name])
      stage.clock.pass(1)
    }
    expect(await stage.store.start(RUN, 'main', 2)).toEqual({ started: ['a', 'b'], held: 0 })
    expect(await stage.store.start(RUN, 'main')).toEqual({ started: ['c'], held: 2 })
    for (const name of ['a', 'b', 'c']) await stage.claim(name)
    expect(await stage.store.claim(RUN, 'w')).toBeNull()
    expect(await stage.store.start(RUN, 'main')).toEqual({ started: [], held: 2 })
    await stage.strike()
  })

  test('tasks with the same time keep their order', async () => {
    const stage = await Stage.set(home)
    const names = ['z', 'a', 'm', 'b']
    await stage.push('main', names)
    expect((await stage.store.start(RUN, 'main')).started).toEqual(names)
    for (const name of names) await stage.claim(name)
    await stage.strike()
  })

  test('a drain respects its width, includes later pushes, and ends', async () => {
    const stage = await Stage.set(home)
    await stage.push('main', ['a', 'b', 'c'])
    expect(await stage.store.drain(RUN, 'main', 2)).toEqual({ started: ['a', 'b', 'c'], held: 0 })
    const [a, b] = [await stage.claim('a'), await stage.claim('b')]
    expect(await stage.store.claim(RUN, 'w')).toBeNull()
    await stage.push('main', ['d'])
    expect((await stage.states())['d']).toBe('ready')
    await stage.store.settle(a, DONE)
    const c = await stage.claim('c')
    expect(await stage.store.claim(RUN, 'w')).toBeNull()
    await stage.store.settle(b, failed('fatal'))
    const d = await stage.claim('d')
    await stage.store.settle(c, DONE)
    await stage.store.settle(d, DONE)
    await stage.push('main', ['e'])
    expect((await stage.states())['e']).toBe('queued')
    await stage.strike()
  })

  test('the limit of running tasks applies to drains, and a drain at full width does not block others', async () => {
    const stage = await Stage.set(home, { limits: { running: 3 } })
    await stage.begin('main', 'a')
    await stage.push('main', ['b', 'c'])
    await stage.store.drain(RUN, 'main', 1)
    await stage.claim('b')
    await stage.push('a', ['d', 'e'])
    await stage.store.drain(RUN, 'a', 50)
    await stage.claim('d')
    expect(await stage.store.claim(RUN, 'w')).toBeNull()
    await stage.strike()
  })

  test('a drain of an empty queue ends at once', async () => {
    const stage = await Stage.set(home)
    expect(await stage.store.drain(RUN, 'main', 2)).toEqual({ started: [], held: 0 })
    await stage.push('main', ['a'])
    expect(await stage.states()).toEqual({ a: 'queued' })
    await stage.strike()
  })

  test('ages are measured by the clock of the store', async () => {
    const stage = await Stage.set(home)
    await stage.begin('main', 'a')
    stage.clock.pass(2500)
    expect((await stage.store.list(RUN))[0]).toMatchObject({ state: 'running', ageMs: 2500 })
    await stage.strike()
  })
}
