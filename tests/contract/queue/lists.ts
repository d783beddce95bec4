import { expect, test } from 'bun:test'
import type { StoreKind } from './store-kind.ts'
import { DONE, failed, newMessage, newTask, RUN, TestStore } from './test-store.ts'

const LONG = 'x'.repeat(5000)

export function testLists(kind: StoreKind): void {
  test('a list has the beginning of prompts and errors, and no results', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const task = { ...newTask('main', 'a'), prompt: `𝄞${LONG}` }
    await store.push([task])
    await store.start(RUN, 'main')
    const claim = await fixture.claim('a')
    expect(claim.task.prompt).toBe(task.prompt)
    await store.settle(claim, { ...failed('fatal'), error: LONG } as never)
    await store.settle(await fixture.begin('main', 'b'), { success: true, output: LONG })
    const [a, b] = await store.list(RUN)
    expect(a!.beginning).toBe(`𝄞${LONG.slice(0, 199)}`)
    expect(a!.end).toEqual({ success: false, class: 'fatal', error: LONG.slice(0, 200) })
    expect(b!.end).toEqual({ success: true })
    expect(JSON.stringify([a, b]).length).toBeLessThan(2000)
    await fixture.close()
  })

  test('a single task is read with prompt and result', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const { task } = await fixture.begin('main', 'a', { isolation: 'worktree' })
    expect(await store.task(RUN, task.id)).toEqual(task)
    expect(await store.task(RUN, 'unknown')).toBeUndefined()
    expect(await store.task('other', task.id)).toBeUndefined()
    await fixture.close()
  })

  test('a list can be limited by state and to tasks that are due', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await store.settle(await fixture.begin('main', 'over'), DONE)
    await fixture.begin('main', 'busy')
    await fixture.push('main', ['put-off', 'next', 'later'])
    await store.start(RUN, 'main', 2)
    const names = async (query: Parameters<typeof store.list>[1]) =>
      (await store.list(RUN, query)).map(({ name }) => name)
    const [putOff] = await store.list(RUN, { states: ['ready'] })
    await store.postpone(RUN, [putOff!.id], 1000)
    expect(await names({ states: ['ready', 'running'] })).toEqual(['busy', 'put-off', 'next'])
    expect(await names({ isDue: true })).toEqual(['next'])
    expect(await names({ agent: 'main', states: ['queued'] })).toEqual(['later'])
    expect(await names({ agent: 'busy' })).toEqual([])
    await fixture.close()
  })

  test('a forwarded message names its original recipient', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const a = await fixture.begin('main', 'a')
    const b = await fixture.begin('a', 'b')
    await store.send(newMessage('a', 'b', 'hello'))
    await store.settle(b, DONE)
    const [lease] = await store.lease(RUN, 'a', { from: ['b'] }, 'r')
    expect(lease!.message).toMatchObject({ kind: 'result' })
    await store.ack([lease!])
    expect(await store.inbox(RUN, 'a')).toMatchObject([{ from: 'a', to: 'b', kind: 'text' }])
    await store.settle(a, DONE)
    expect(await store.inbox(RUN, 'main')).toMatchObject([
      { from: 'a', to: 'b', kind: 'text' },
      { from: 'a', kind: 'result' },
    ])
    const [mail] = await store.lease(RUN, 'main', {}, 'r')
    expect(mail!.message).toMatchObject({ kind: 'text', from: 'a', to: 'b', body: 'hello' })
    await fixture.close()
  })

  test('a forwarded message is not an answer to its new recipient', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const [a] = [await fixture.begin('main', 'a'), await fixture.begin('main', 'b')]
    await store.send(newMessage('b', 'a', 'for a'))
    await store.settle(a, DONE)
    expect(await store.lease(RUN, 'main', { from: ['b'] }, 'r')).toEqual([])
    const { senders } = await fixture.status('main', ['b'])
    expect(senders).toEqual([{ name: 'b', status: 'running' }])
    expect(await store.lease(RUN, 'main', { max: 9 }, 'r')).toHaveLength(2)
    await fixture.close()
  })
}
