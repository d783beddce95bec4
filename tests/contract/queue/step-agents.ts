import { expect, test } from 'bun:test'
import type { StoreKind } from './store-kind.ts'
import { DONE, newMessage, refusalOf, RUN, TestStore } from './test-store.ts'

const BRANCHES = ['build#1', 'build#2', 'docs']

async function openWithBranches(kind: StoreKind): Promise<TestStore> {
  const fixture = await TestStore.open(kind)
  await fixture.store.openRun(RUN, BRANCHES)
  await fixture.store.setStepAgent(RUN, 'main', 'idle')
  return fixture
}

/** Lets an agent wait, and returns how its wait would end now. */
async function wait(fixture: TestStore, agent: string, ...from: string[]) {
  const query = from.length === 0 ? {} : { from }
  await fixture.store.take(RUN, agent, query, `reader of ${agent}`)
}

export function testStepAgents(kind: StoreKind): void {
  test('agents in branches are created once, beside main, and are running', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const all = async () =>
      (await store.stepAgents(RUN)).map(({ name, state }) => `${name} ${state}`)
    expect(await all()).toEqual(['main running'])
    await store.openRun(RUN, BRANCHES)
    await store.setStepAgent(RUN, 'build#2', 'idle')
    await store.openRun(RUN, BRANCHES)
    await store.openRun(RUN)
    const expected = ['main running', 'build#1 running', 'build#2 idle', 'docs running']
    expect(await all()).toEqual(expected)
    expect(await store.list(RUN)).toEqual([])
    const unknown = await refusalOf(store.setStepAgent(RUN, 'nobody', 'idle'))
    expect(unknown.kind).toBe('unknown_agent')
    await fixture.close()
  })

  test('each has its own queue and inbox', async () => {
    const fixture = await openWithBranches(kind)
    const { store } = fixture
    await fixture.push('build#1', ['a', 'b'])
    await fixture.push('build#2', ['c'])
    await fixture.push('main', ['d'])
    expect(await store.start(RUN, 'build#2')).toEqual({ started: ['c'], held: 0 })
    const named = async (agent: string) =>
      (await store.list(RUN, { agent })).map(({ name }) => name)
    expect(await Promise.all(['main', ...BRANCHES].map(named))).toEqual([
      ['d'],
      ['a', 'b'],
      ['c'],
      [],
    ])
    await store.settle(await fixture.claim('c'), DONE)
    await store.send(newMessage('build#2', 'build#1', 'hello'))
    await store.send(newMessage('build#1', 'docs', 'for later'))
    const inboxes = await Promise.all(['main', ...BRANCHES].map((name) => fixture.read(name)))
    expect(inboxes).toEqual([[], ['build#2: hello'], ['c: done'], ['build#1: for later']])
    await fixture.close()
  })

  test('no task has the name of an agent, and no agent can be cancelled', async () => {
    const fixture = await openWithBranches(kind)
    for (const name of ['main', 'docs']) {
      expect(await refusalOf(fixture.push('main', [name]))).toEqual({ kind: 'name_of_agent', name })
      expect(await refusalOf(fixture.store.cancel(RUN, name))).toEqual({ kind: 'not_a_task', name })
    }
    await fixture.close()
  })

  test('an agent waits for those at work, but not for those that are not', async () => {
    const fixture = await openWithBranches(kind)
    const { store } = fixture
    await store.setStepAgent(RUN, 'docs', 'idle')
    const one = await fixture.status('build#1', ['build#2', 'docs', 'main'])
    expect(one.senders.map(({ status }) => status)).toEqual(['running', 'idle', 'idle'])
    expect(one.nothingToWaitFor).toBe(false)
    expect((await fixture.status('build#1')).nothingToWaitFor).toBe(false)
    await store.setStepAgent(RUN, 'build#2', 'idle')
    expect((await fixture.status('build#1', ['build#2'])).nothingToWaitFor).toBe(true)
    expect((await fixture.status('build#1')).nothingToWaitFor).toBe(true)
    await fixture.close()
  })

  test('the end of the last other agent ends a wait for anyone', async () => {
    const fixture = await openWithBranches(kind)
    const { store } = fixture
    await store.setStepAgent(RUN, 'docs', 'idle')
    await wait(fixture, 'build#1')
    const mark = await store.mark()
    const woken = store.wait(RUN, mark)
    await store.setStepAgent(RUN, 'build#2', 'idle')
    await woken
    expect((await fixture.status('build#1')).nothingToWaitFor).toBe(true)
    await fixture.close()
  })

  test('agents in branches that wait for each other are in a deadlock', async () => {
    const fixture = await openWithBranches(kind)
    await fixture.begin('docs', 'task')
    await wait(fixture, 'build#1', 'build#2')
    expect((await fixture.status('build#1', ['build#2'])).deadlock).toBeNull()
    await wait(fixture, 'build#2', 'build#1')
    for (const [one, other] of [
      ['build#1', 'build#2'],
      ['build#2', 'build#1'],
    ] as const) {
      expect((await fixture.status(one, [other])).deadlock).toEqual(['build#1', 'build#2'])
    }
    await fixture.close()
  })

  test('agents that wait for their running tasks are not', async () => {
    const fixture = await openWithBranches(kind)
    for (const [agent, task] of [
      ['build#1', 'a'],
      ['build#2', 'b'],
      ['docs', 'c'],
    ] as const) {
      await fixture.begin(agent, task)
      await wait(fixture, agent, task)
    }
    for (const agent of BRANCHES)
      expect(await fixture.status(agent)).toMatchObject({ deadlock: null, nothingToWaitFor: false })
    await fixture.close()
  })

  test('isAwaiting is about the started tasks of one agent and their descendants', async () => {
    const fixture = await openWithBranches(kind)
    const { store } = fixture
    const awaiting = async () => {
      const all = await Promise.all(BRANCHES.map((name) => store.isAwaiting(RUN, name)))
      return BRANCHES.filter((_, index) => all[index])
    }
    await fixture.push('docs', ['queued'])
    expect(await awaiting()).toEqual([])
    const parent = await fixture.begin('build#1', 'parent')
    expect(await awaiting()).toEqual(['build#1'])
    const child = await fixture.begin('parent', 'child')
    // Its parent had to release its slot.
    await store.settle(parent, DONE)
    expect(await awaiting()).toEqual(['build#1'])
    await fixture.push('build#2', ['ready'])
    await store.start(RUN, 'build#2')
    expect(await awaiting()).toEqual(['build#1', 'build#2'])
    await store.settle(child, DONE)
    expect(await awaiting()).toEqual(['build#2'])
    await store.settle(await fixture.claim('ready'), DONE)
    expect(await awaiting()).toEqual([])
    expect(await fixture.read('build#1')).toEqual(['parent: done', 'child: done'])
    await fixture.close()
  })
}
