import { expect, test } from 'bun:test'
import type { QueueStore } from '../../../src/queue/store.ts'
import { actingFor, type Acting, type Claim } from '../../../src/queue/task.ts'
import type { Home } from './home.ts'
import { DONE, failed, newMessage, newTask, refusalOf, RUN, Stage } from './stage.ts'

const TIMES = { firstPauseMs: 100, readerLeaseMs: 1000 }

/** All calls that an agent makes. */
const CALLS: Record<string, (store: QueueStore, agent: Acting) => Promise<unknown>> = {
  push: (store, agent) => store.push([{ ...newTask('', 'child'), parent: agent }]),
  start: (store, agent) => store.start(RUN, agent),
  drain: (store, agent) => store.drain(RUN, agent, 2),
  send: (store, agent) => store.send({ ...newMessage('', 'main', 'late'), from: agent }),
  lease: (store, agent) => store.lease(RUN, agent, {}, 'r'),
  renew: (store, agent) => store.renew(RUN, agent, 'r'),
  inbox: (store, agent) => store.inbox(RUN, agent),
  list: (store, agent) => store.list(RUN, { agent }),
  outlook: (store, agent) => store.outlook(RUN, agent),
  take: (store, agent) => store.take(RUN, agent, {}, 'r'),
  cancel: (store, agent) => store.cancel(RUN, 'other', 'late', agent),
}

export function testFences(home: Home): void {
  test.each(Object.keys(CALLS))('an agent of an ended task is refused: %s', async (name) => {
    const stage = await Stage.set(home, { times: TIMES })
    const { store } = stage
    const old = await stage.begin('main', 'a', { retry: 1 })
    await stage.push('main', ['other'])
    const act = (claim: Claim) => CALLS[name]!(store, actingFor(claim))
    const ended = { kind: 'agent_ended', name: 'a' } as const
    await store.settle(old, failed('transient'))
    expect(await refusalOf(act(old))).toEqual(ended)
    stage.clock.pass(100)
    const claim = await stage.claim('a')
    expect(await refusalOf(act(old))).toEqual(ended)
    await store.settle(claim, DONE)
    expect(await refusalOf(act(claim))).toEqual(ended)
    await stage.push('main', ['a'])
    await store.start(RUN, 'main')
    for (const next of ['other', 'a']) await stage.claim(next)
    expect(await refusalOf(act(claim))).toEqual(ended)
    await stage.strike()
  })

  test.each(Object.keys(CALLS))('an agent of the current attempt may: %s', async (name) => {
    const stage = await Stage.set(home)
    await stage.push('main', ['other'])
    await stage.store.start(RUN, 'main')
    await stage.claim('other')
    await CALLS[name]!(stage.store, actingFor(await stage.begin('main', 'a')))
    await stage.strike()
  })

  test('an agent whose name does not match its task is unknown', async () => {
    const stage = await Stage.set(home)
    const agent = { ...actingFor(await stage.begin('main', 'a')), name: 'b' }
    expect((await refusalOf(stage.store.inbox(RUN, agent))).kind).toBe('unknown_agent')
    await stage.strike()
  })

  test('messages for a new task of the same name are not for the ended one', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const first = await stage.begin('main', 'x')
    await store.settle(first, DONE)
    const second = await stage.begin('main', 'x')
    await store.send(newMessage('main', 'x', 'for the second'))
    const refusal = await refusalOf(store.lease(RUN, actingFor(first), {}, 'leftover'))
    expect(refusal.kind).toBe('agent_ended')
    expect(await store.lease(RUN, actingFor(second), {}, 'r')).toHaveLength(1)
    await stage.strike()
  })

  test('an agent identified by its task is not confused with another of the same name', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const first = await stage.begin('main', 'x')
    const child = await stage.begin('x', 'child')
    await store.settle(first, DONE)
    await stage.begin('main', 'x')
    const { name, id: task } = first.task
    expect((await store.outlook(RUN, 'x')).isRunning).toBe(false)
    expect((await store.outlook(RUN, { name, task })).isRunning).toBe(true)
    expect(await store.list(RUN, { agent: { name, task } })).toMatchObject([{ name: 'child' }])
    const late = { ...newTask('', 'late'), parent: { name, task } }
    expect(await refusalOf(store.push([late]))).toEqual({ kind: 'agent_ended', name: 'x' })
    await store.settle(child, DONE)
    await stage.strike()
  })

  test('a renewed lease does not expire', async () => {
    const stage = await Stage.set(home, { times: TIMES })
    const { store } = stage
    await store.send(newMessage('main', 'main', 'hello'))
    const leases = await store.lease(RUN, 'main', {}, 'slow')
    for (let round = 0; round < 5; round += 1) {
      stage.clock.pass(900)
      await store.renew(RUN, 'main', 'slow')
    }
    expect(await store.lease(RUN, 'main', {}, 'other')).toEqual([])
    expect(await store.ack(leases)).toEqual([true])
    await stage.strike()
  })

  test('a renewal does not take an expired lease back from another reader', async () => {
    const stage = await Stage.set(home, { times: TIMES })
    const { store } = stage
    await store.send(newMessage('main', 'main', 'hello'))
    const late = await store.lease(RUN, 'main', {}, 'slow')
    stage.clock.pass(1000)
    const leases = await store.lease(RUN, 'main', {}, 'other')
    await store.renew(RUN, 'main', 'slow')
    expect(await store.ack(late)).toEqual([false])
    expect(await store.ack(leases)).toEqual([true])
    await stage.strike()
  })

  test('a start with the same id is done once and returns the same answer', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    await stage.push('main', ['a', 'b', 'c', 'd'])
    const start = (id: string) => store.start(RUN, 'main', 1, id)
    expect(await start('one')).toEqual({ started: ['a'], held: 0 })
    expect(await start('one')).toEqual({ started: ['a'], held: 0 })
    expect(await start('two')).toEqual({ started: ['b'], held: 0 })
    const drain = () => store.drain(RUN, 'main', 1, 'three')
    expect(await drain()).toEqual({ started: ['c', 'd'], held: 0 })
    for (const name of ['a', 'b', 'c', 'd']) await store.settle(await stage.claim(name), DONE)
    await stage.push('main', ['e'])
    expect(await drain()).toEqual({ started: ['c', 'd'], held: 0 })
    expect((await stage.states())['e']).toBe('queued')
    await stage.strike()
  })
}
