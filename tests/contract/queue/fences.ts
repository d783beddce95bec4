import { expect, test } from 'bun:test'
import type { QueueStore } from '../../../src/queue/store.ts'
import { actingFor, type Acting, type TaskClaim } from '../../../src/queue/task.ts'
import type { StoreKind } from './store-kind.ts'
import { DONE, failed, newMessage, newTask, refusalOf, RUN, TestStore } from './test-store.ts'

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
  take: (store, agent) => store.take(RUN, agent, {}, 'r'),
  cancel: (store, agent) => store.cancel(RUN, 'other', 'late', agent),
}

export function testFences(kind: StoreKind): void {
  test.each(Object.keys(CALLS))('an agent of an ended task is refused: %s', async (name) => {
    const fixture = await TestStore.open(kind, { times: TIMES })
    const { store } = fixture
    const old = await fixture.begin('main', 'a', { retry: 1 })
    await fixture.push('main', ['other'])
    const act = (claim: TaskClaim) => CALLS[name]!(store, actingFor(claim))
    const ended = { kind: 'agent_ended', name: 'a' } as const
    await store.settle(old, failed('transient'))
    expect(await refusalOf(act(old))).toEqual(ended)
    fixture.clock.pass(100)
    const claim = await fixture.claim('a')
    expect(await refusalOf(act(old))).toEqual(ended)
    await store.settle(claim, DONE)
    expect(await refusalOf(act(claim))).toEqual(ended)
    await fixture.push('main', ['a'])
    await store.start(RUN, 'main')
    for (const next of ['other', 'a']) await fixture.claim(next)
    expect(await refusalOf(act(claim))).toEqual(ended)
    await fixture.close()
  })

  test.each(Object.keys(CALLS))('an agent of the current attempt may: %s', async (name) => {
    const fixture = await TestStore.open(kind)
    await fixture.push('main', ['other'])
    await fixture.store.start(RUN, 'main')
    await fixture.claim('other')
    await CALLS[name]!(fixture.store, actingFor(await fixture.begin('main', 'a')))
    await fixture.close()
  })

  test('an agent whose name does not match its task is unknown', async () => {
    const fixture = await TestStore.open(kind)
    const agent = { ...actingFor(await fixture.begin('main', 'a')), name: 'b' }
    expect((await refusalOf(fixture.store.inbox(RUN, agent))).kind).toBe('unknown_agent')
    await fixture.close()
  })

  test('messages for a new task of the same name are not for the ended one', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const first = await fixture.begin('main', 'x')
    await store.settle(first, DONE)
    const second = await fixture.begin('main', 'x')
    await store.send(newMessage('main', 'x', 'for the second'))
    const refusal = await refusalOf(store.lease(RUN, actingFor(first), {}, 'leftover'))
    expect(refusal.kind).toBe('agent_ended')
    expect(await store.lease(RUN, actingFor(second), {}, 'r')).toHaveLength(1)
    await fixture.close()
  })

  test('an agent identified by its task is not confused with another of the same name', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const first = await fixture.begin('main', 'x')
    const child = await fixture.begin('x', 'child')
    await store.settle(first, DONE)
    await fixture.begin('main', 'x')
    const { name, id: task } = first.task
    expect(await store.list(RUN, { agent: 'x' })).toEqual([])
    expect(await store.list(RUN, { agent: { name, task } })).toMatchObject([{ name: 'child' }])
    const late = { ...newTask('', 'late'), parent: { name, task } }
    expect(await refusalOf(store.push([late]))).toEqual({ kind: 'agent_ended', name: 'x' })
    await store.settle(child, DONE)
    await fixture.close()
  })

  test('a renewed lease does not expire', async () => {
    const fixture = await TestStore.open(kind, { times: TIMES })
    const { store } = fixture
    await store.send(newMessage('main', 'main', 'hello'))
    const leases = await store.lease(RUN, 'main', {}, 'slow')
    for (let round = 0; round < 5; round += 1) {
      fixture.clock.pass(900)
      await store.renew(RUN, 'main', 'slow')
    }
    expect(await store.lease(RUN, 'main', {}, 'other')).toEqual([])
    expect(await store.ack(leases)).toEqual([true])
    await fixture.close()
  })

  test('a renewal does not take an expired lease back from another reader', async () => {
    const fixture = await TestStore.open(kind, { times: TIMES })
    const { store } = fixture
    await store.send(newMessage('main', 'main', 'hello'))
    const late = await store.lease(RUN, 'main', {}, 'slow')
    fixture.clock.pass(1000)
    const leases = await store.lease(RUN, 'main', {}, 'other')
    await store.renew(RUN, 'main', 'slow')
    expect(await store.ack(late)).toEqual([false])
    expect(await store.ack(leases)).toEqual([true])
    await fixture.close()
  })

  test('a start with the same id is done once and returns the same answer', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await fixture.push('main', ['a', 'b', 'c', 'd'])
    const start = (id: string) => store.start(RUN, 'main', 1, id)
    expect(await start('one')).toEqual({ started: ['a'], held: 0 })
    expect(await start('one')).toEqual({ started: ['a'], held: 0 })
    expect(await start('two')).toEqual({ started: ['b'], held: 0 })
    const drain = () => store.drain(RUN, 'main', 1, 'three')
    expect(await drain()).toEqual({ started: ['c', 'd'], held: 0 })
    for (const name of ['a', 'b', 'c', 'd']) await store.settle(await fixture.claim(name), DONE)
    await fixture.push('main', ['e'])
    expect(await drain()).toEqual({ started: ['c', 'd'], held: 0 })
    expect((await fixture.states())['e']).toBe('queued')
    await fixture.close()
  })
}
