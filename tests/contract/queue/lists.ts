import { expect, test } from 'bun:test'
import type { Home } from './home.ts'
import { DONE, failed, newMessage, newTask, RUN, Stage } from './stage.ts'

const LONG = 'x'.repeat(5000)

export function testLists(home: Home): void {
  test('a list has the beginning of prompts and errors, and no results', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const task = { ...newTask('main', 'a'), prompt: `𝄞${LONG}` }
    await store.push([task])
    await store.start(RUN, 'main')
    const claim = await stage.claim('a')
    expect(claim.task.prompt).toBe(task.prompt)
    await store.settle(claim, { ...failed('fatal'), error: LONG } as never)
    await store.settle(await stage.begin('main', 'b'), { success: true, output: LONG })
    const [a, b] = await store.list(RUN)
    expect(a!.beginning).toBe(`𝄞${LONG.slice(0, 199)}`)
    expect(a!.end).toEqual({ success: false, class: 'fatal', error: LONG.slice(0, 200) })
    expect(b!.end).toEqual({ success: true })
    expect(JSON.stringify([a, b]).length).toBeLessThan(2000)
    await stage.strike()
  })

  test('a single task is read with prompt and result', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const { task } = await stage.begin('main', 'a', { isolation: 'worktree' })
    expect(await store.task(RUN, task.id)).toEqual(task)
    expect(await store.task(RUN, 'unknown')).toBeUndefined()
    expect(await store.task('other', task.id)).toBeUndefined()
    await stage.strike()
  })

  test('a list can be limited by state and to tasks that are due', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    await store.settle(await stage.begin('main', 'over'), DONE)
    await stage.begin('main', 'busy')
    await stage.push('main', ['put-off', 'next', 'later'])
    await store.start(RUN, 'main', 2)
    const names = async (query: Parameters<typeof store.list>[1]) =>
      (await store.list(RUN, query)).map(({ name }) => name)
    const [putOff] = await store.list(RUN, { states: ['ready'] })
    await store.postpone(RUN, [putOff!.id], 1000)
    expect(await names({ states: ['ready', 'running'] })).toEqual(['busy', 'put-off', 'next'])
    expect(await names({ isDue: true })).toEqual(['next'])
    expect(await names({ most: 2 })).toEqual(['over', 'busy'])
    expect(await names({ agent: 'main', states: ['queued'] })).toEqual(['later'])
    expect(await names({ agent: 'busy' })).toEqual([])
    await stage.strike()
  })

  test('a forwarded message names its original recipient', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const a = await stage.begin('main', 'a')
    const b = await stage.begin('a', 'b')
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
    await stage.strike()
  })

  test('a forwarded message is not an answer to its new recipient', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const [a] = [await stage.begin('main', 'a'), await stage.begin('main', 'b')]
    await store.send(newMessage('b', 'a', 'for a'))
    await store.settle(a, DONE)
    expect(await store.lease(RUN, 'main', { from: ['b'] }, 'r')).toEqual([])
    const { senders } = await stage.status('main', ['b'])
    expect(senders).toEqual([{ name: 'b', status: 'running' }])
    expect(await store.lease(RUN, 'main', { max: 9 }, 'r')).toHaveLength(2)
    await stage.strike()
  })
}
