import { expect, test } from 'bun:test'
import type { LeaseQuery } from '../../../src/queue/message.ts'
import type { StoreKind } from './store-kind.ts'
import { DONE, newMessage, refusalOf, RUN, TestStore } from './test-store.ts'

const TIMES = { readerLeaseMs: 1000 }

async function mailed(kind: StoreKind): Promise<TestStore> {
  const fixture = await TestStore.open(kind, { times: TIMES })
  await fixture.push('main', ['a', 'b', 'c', 'd'])
  for (const [from, body] of Object.entries({ a: '1', b: '2', c: '3', d: '4' })) {
    await fixture.store.send(newMessage(from, 'main', body))
    fixture.clock.pass(1)
  }
  return fixture
}

async function bodies(fixture: TestStore, query: LeaseQuery, reader: string): Promise<string[]> {
  const leases = await fixture.store.lease(RUN, 'main', query, reader)
  return leases.map(({ message }) => (message.kind === 'text' ? message.body : ''))
}

export function testMessages(kind: StoreKind): void {
  test('a message is kept until it is acknowledged', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await store.send(newMessage('main', 'main', 'hello'))
    const leases = await store.lease(RUN, 'main', {}, 'r1')
    expect(leases).toMatchObject([{ message: { kind: 'text', from: 'main', body: 'hello' } }])
    expect(await store.ack(leases)).toEqual([true])
    expect(await store.ack(leases)).toEqual([false])
    expect(await store.lease(RUN, 'main', {}, 'r1')).toEqual([])
    expect((await store.counts(RUN)).messages).toBe(0)
    await fixture.close()
  })

  test('a repeated send takes effect once, even after the message was read', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const message = newMessage('main', 'main', 'hello')
    await store.send(message)
    await store.send(message)
    const leases = await store.lease(RUN, 'main', { max: 9 }, 'r1')
    expect(leases).toHaveLength(1)
    await store.ack(leases)
    await store.send(message)
    expect(await store.inbox(RUN, 'main')).toEqual([])
    await fixture.close()
  })

  test('a message to an unknown or ended agent is refused', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await store.settle(await fixture.begin('main', 'a'), DONE)
    const send = (to: string) => refusalOf(store.send(newMessage('main', to, 'hello')))
    expect(await send('nobody')).toEqual({ kind: 'unknown_agent', name: 'nobody' })
    expect(await send('a')).toEqual({ kind: 'agent_ended', name: 'a' })
    const lost = { ...newMessage('main', 'main', 'x'), run: 'other' }
    expect(await refusalOf(store.send(lost))).toEqual({ kind: 'unknown_run', run: 'other' })
    await fixture.close()
  })

  test('an unknown or ended agent cannot send', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await store.settle(await fixture.begin('main', 'a'), DONE)
    const send = (from: string) => refusalOf(store.send(newMessage(from, 'main', 'hello')))
    expect(await send('nobody')).toEqual({ kind: 'unknown_agent', name: 'nobody' })
    expect(await send('a')).toEqual({ kind: 'agent_ended', name: 'a' })
    expect(await fixture.read('main')).toEqual(['a: done'])
    await fixture.close()
  })

  test.each<[string, LeaseQuery, string[]]>([
    ['the oldest', {}, ['1']],
    ['the three oldest', { max: 3 }, ['1', '2', '3']],
    ['all', { max: 9 }, ['1', '2', '3', '4']],
    ['the two newest', { lifo: true, max: 2 }, ['4', '3']],
    ['those of two senders', { from: ['b', 'd'], max: 9 }, ['2', '4']],
    ['the newest of two senders', { from: ['b', 'd'], lifo: true }, ['4']],
    ['none of an unknown sender', { from: ['nobody'], max: 9 }, []],
  ])('lease returns %s of four messages', async (_, query, expected) => {
    const fixture = await mailed(kind)
    expect(await bodies(fixture, query, 'r1')).toEqual(expected)
    await fixture.close()
  })

  test('a leased message is not delivered to another reader', async () => {
    const fixture = await mailed(kind)
    expect(await bodies(fixture, { max: 2 }, 'r1')).toEqual(['1', '2'])
    expect(await bodies(fixture, { max: 9 }, 'r2')).toEqual(['3', '4'])
    expect(await bodies(fixture, { max: 9 }, 'r1')).toEqual([])
    const lines = await fixture.store.inbox(RUN, 'main')
    expect(lines.every(({ isLeased }) => isLeased)).toBe(true)
    await fixture.close()
  })

  test('an acknowledgement is refused once the message was leased again', async () => {
    const fixture = await mailed(kind)
    const { store } = fixture
    const late = await store.lease(RUN, 'main', { max: 2 }, 'r1')
    fixture.clock.pass(1000)
    const again = await store.lease(RUN, 'main', {}, 'r1')
    expect(again).toMatchObject([{ delivery: 2, message: { body: '1' } }])
    expect(await store.ack(late)).toEqual([false, true])
    expect(await store.ack(again)).toEqual([true])
    await fixture.close()
  })

  test('messages of a released reader are delivered again in their old order', async () => {
    const fixture = await mailed(kind)
    const leases = await fixture.store.lease(RUN, 'main', { max: 2 }, 'r1')
    await fixture.store.releaseReaders(['r1'])
    expect(await bodies(fixture, { max: 9 }, 'r2')).toEqual(['1', '2', '3', '4'])
    expect(await fixture.store.ack(leases)).toEqual([false, false])
    await fixture.close()
  })

  test('expire takes messages back from dead readers', async () => {
    const fixture = await mailed(kind)
    await bodies(fixture, { max: 1 }, 'dead')
    await bodies(fixture, { max: 1 }, 'alive')
    await fixture.store.expire(RUN, ['dead'])
    expect(await bodies(fixture, { max: 9 }, 'r2')).toEqual(['1', '3', '4'])
    await fixture.close()
  })

  test('releasing dead readers does not affect running tasks', async () => {
    const fixture = await mailed(kind)
    const { store } = fixture
    await fixture.begin('a', 'busy')
    await store.lease(RUN, 'main', { max: 1 }, 'dead')
    const [held] = await store.lease(RUN, 'main', { max: 1 }, 'alive')
    expect((await store.holders(RUN)).toSorted()).toEqual(['alive', 'dead', 'worker of busy'])
    await store.releaseReaders(['dead', 'worker of busy'])
    const [again] = await store.lease(RUN, 'main', { max: 1 }, 'next')
    expect(again).toMatchObject({ delivery: 2 })
    expect(await store.ack([held!])).toEqual([true])
    expect(await fixture.states()).toMatchObject({ busy: 'running' })
    await fixture.close()
  })

  test('the inbox shows senders and ages', async () => {
    const fixture = await mailed(kind)
    await fixture.store.start(RUN, 'main', 1)
    await fixture.store.settle(await fixture.claim('a'), DONE)
    const lines = await fixture.store.inbox(RUN, 'main')
    expect(lines.map((line) => `${line.from} ${line.kind} ${line.ageMs}`)).toEqual([
      'a text 4',
      'b text 3',
      'c text 2',
      'd text 1',
      'a result 0',
    ])
    expect((await refusalOf(fixture.store.inbox(RUN, 'nobody'))).kind).toBe('unknown_agent')
    await fixture.close()
  })

  test('any text is delivered unchanged', async () => {
    const fixture = await TestStore.open(kind)
    const body = 'NUL \0, quotes \' " `, 𝄞, \r\n, and more'.repeat(1000)
    await fixture.store.send(newMessage('main', 'main', body))
    expect(await bodies(fixture, {}, 'r1')).toEqual([body])
    await fixture.close()
  })

  test('two runs are independent', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await store.openRun('other')
    await fixture.push('main', ['a'])
    await store.push([{ id: 'other-a', run: 'other', parent: 'main', name: 'a', prompt: 'x' }])
    await store.start('other', 'main')
    expect((await store.claim('other', 'w'))?.task.id).toBe('other-a')
    expect(await store.claim(RUN, 'w')).toBeNull()
    expect(await store.list('other')).toHaveLength(1)
    expect(await store.verify('other')).toEqual([])
    await fixture.close()
  })
}
