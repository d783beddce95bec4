import { expect, test } from 'bun:test'
import type { StoreKind } from './store-kind.ts'
import { DONE, newMessage, RUN, TestStore } from './test-store.ts'

/** The deadlock that is reported to an agent. */
async function deadlockOf(fixture: TestStore, agent: string): Promise<readonly string[] | null> {
  return (await fixture.status(agent)).deadlock
}

/** Whether an agent has nothing to wait for. */
async function isAlone(fixture: TestStore, agent: string): Promise<boolean> {
  return (await fixture.status(agent)).nothingToWaitFor
}

async function wait(fixture: TestStore, agent: string, ...from: string[]): Promise<void> {
  const query = from.length === 0 ? {} : { from }
  await fixture.store.take(RUN, agent, query, `reader of ${agent}`)
}

export function testStatus(kind: StoreKind): void {
  test('receiveStatus reports a status for each sender', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await store.settle(await fixture.begin('main', 'over'), DONE)
    const gone = await fixture.begin('main', 'gone')
    await store.settle(gone, DONE)
    await store.ack(await store.lease(RUN, 'main', { from: ['gone'] }, 'r'))
    await fixture.begin('main', 'busy')
    await fixture.push('main', ['next', 'later'])
    await store.start(RUN, 'main', 1)
    const names = ['over', 'gone', 'busy', 'next', 'later', 'nobody']
    const { senders, nothingToWaitFor } = await fixture.status('main', names)
    expect(Object.fromEntries(senders.map(({ name, status }) => [name, status]))).toEqual({
      over: 'received',
      gone: 'dead',
      busy: 'running',
      next: 'running',
      later: 'idle',
      nobody: 'dead',
    })
    expect(nothingToWaitFor).toBe(false)
    await fixture.close()
  })

  test('there is nothing to wait for without a message or a possible sender', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    const isOver = async (...from: string[]) =>
      (await fixture.status('main', from)).nothingToWaitFor
    expect(await isOver()).toBe(true)
    await fixture.push('main', ['a'])
    expect(await isOver()).toBe(true)
    expect(await isOver('a')).toBe(true)
    await store.start(RUN, 'main')
    expect(await isOver()).toBe(false)
    const claim = await fixture.claim('a')
    expect(await isOver('a')).toBe(false)
    expect(await isOver('b')).toBe(true)
    await store.settle(claim, DONE)
    expect(await isOver()).toBe(false)
    await store.ack(await store.lease(RUN, 'main', {}, 'r'))
    expect(await isOver()).toBe(true)
    await fixture.close()
  })

  test('a leased message may come back, so there is something to wait for', async () => {
    const fixture = await TestStore.open(kind, { times: { readerLeaseMs: 1000 } })
    await fixture.store.send(newMessage('main', 'main', 'hello'))
    await fixture.store.lease(RUN, 'main', {}, 'killed')
    const status = await fixture.status('main', ['main'])
    expect(status).toMatchObject({ senders: [{ status: 'running' }], nothingToWaitFor: false })
    expect(status.isHeld).toBe(true)
    const ofAnybody = await fixture.status('main')
    expect(ofAnybody).toMatchObject({ nothingToWaitFor: false, isHeld: true })
    fixture.clock.pass(1000)
    expect((await fixture.status('main')).isHeld).toBe(false)
    expect((await fixture.status('main', ['main'])).senders[0]!.status).toBe('received')
    await fixture.close()
  })

  test('main can be waited for while it is running', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.begin('main', 'a')
    const isOver = async () => (await fixture.status('a')).nothingToWaitFor
    expect(await isOver()).toBe(false)
    await fixture.store.setStepAgent(RUN, 'main', 'idle')
    expect(await isOver()).toBe(true)
    const { senders } = await fixture.status('a', ['main'])
    expect(senders).toEqual([{ name: 'main', status: 'idle' }])
    await fixture.store.setStepAgent(RUN, 'main', 'running')
    expect(await isOver()).toBe(false)
    await fixture.close()
  })

  test('take leases all answers, or none while another reader has one of them', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    for (const name of ['a', 'b']) await store.settle(await fixture.begin('main', name), DONE)
    const [held] = await store.lease(RUN, 'main', { from: ['a'] }, 'other')
    const query = { from: ['a', 'b'] }
    const none = await store.take(RUN, 'main', query, 'reader')
    expect(none.leases).toEqual([])
    expect(none.senders.map(({ status }) => status)).toEqual(['running', 'received'])
    await store.ack([held!])
    const rest = await store.take(RUN, 'main', query, 'reader')
    expect(rest.senders.map(({ status }) => status)).toEqual(['dead', 'received'])
    expect(rest.leases.map(({ message }) => message.from)).toEqual(['b'])
    await fixture.close()
  })

  test('take with isLast leases the answers that have arrived', async () => {
    const fixture = await TestStore.open(kind)
    const { store } = fixture
    await store.settle(await fixture.begin('main', 'a'), DONE)
    await fixture.begin('main', 'b')
    const query = { from: ['a', 'b'] }
    expect((await store.take(RUN, 'main', query, 'reader')).leases).toEqual([])
    const { leases } = await store.take(RUN, 'main', { ...query, isLast: true }, 'reader')
    expect(leases.map(({ message }) => message.from)).toEqual(['a'])
    await fixture.close()
  })
}

export function testDeadlocks(kind: StoreKind): void {
  test('a deadlock is reported to both agents, even after the first stops waiting', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.begin('main', 'a')
    await wait(fixture, 'main', 'a')
    expect(await deadlockOf(fixture, 'main')).toBeNull()
    await wait(fixture, 'a', 'main')
    expect(await deadlockOf(fixture, 'main')).toEqual(['a', 'main'])
    await fixture.store.stopWaiting(RUN, 'main', 'reader of main')
    expect(await deadlockOf(fixture, 'main')).toBeNull()
    expect(await deadlockOf(fixture, 'a')).toEqual(['a', 'main'])
    await fixture.close()
  })

  test('a deadlock is reported even if the other agent has ended', async () => {
    const fixture = await TestStore.open(kind)
    const left = await fixture.begin('main', 'left')
    await fixture.begin('main', 'right')
    await wait(fixture, 'left', 'right')
    await wait(fixture, 'right', 'left')
    await fixture.store.settle(left, DONE)
    const status = await fixture.status('right', ['left'])
    expect(status).toMatchObject({ nothingToWaitFor: false, deadlock: ['left', 'right'] })
    await fixture.close()
  })

  test('a deadlock wakes its agents, but a wait alone does not', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.begin('main', 'a')
    const before = await fixture.store.mark()
    await wait(fixture, 'main', 'a')
    await wait(fixture, 'main', 'a')
    expect(await fixture.store.mark()).toBe(before)
    const woken = fixture.store.wait(RUN, before)
    await wait(fixture, 'a', 'main')
    expect(await woken).not.toBe(before)
    await fixture.close()
  })

  test('a deadlock of three is reported to them, and not to an agent that waits for them', async () => {
    const fixture = await TestStore.open(kind)
    for (const name of ['a', 'b', 'c', 'd']) await fixture.begin('main', name)
    await wait(fixture, 'd', 'a')
    await wait(fixture, 'a', 'b')
    await wait(fixture, 'b', 'c')
    expect(await deadlockOf(fixture, 'a')).toBeNull()
    await wait(fixture, 'c', 'a')
    for (const name of ['a', 'b', 'c'])
      expect(await deadlockOf(fixture, name)).toEqual(['a', 'b', 'c'])
    expect(await deadlockOf(fixture, 'd')).toBeNull()
    const mark = await fixture.store.mark()
    await wait(fixture, 'main', 'd')
    expect(await fixture.store.mark()).toBe(mark)
    await fixture.close()
  })

  test('an agent that waits for itself is in a deadlock', async () => {
    const fixture = await TestStore.open(kind)
    await wait(fixture, 'main', 'main')
    expect(await deadlockOf(fixture, 'main')).toEqual(['main'])
    await fixture.close()
  })

  test('an undelivered message prevents a deadlock', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.begin('main', 'a')
    await fixture.store.send(newMessage('a', 'main', 'hello'))
    await wait(fixture, 'main', 'a')
    await wait(fixture, 'a', 'main')
    expect(await deadlockOf(fixture, 'main')).toBeNull()
    expect(await deadlockOf(fixture, 'a')).toBeNull()
    await fixture.close()
  })

  test('an agent that waits for anyone has nothing to wait for once no other can send', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.begin('main', 'a')
    await wait(fixture, 'a')
    const b = await fixture.begin('a', 'b')
    await wait(fixture, 'main')
    expect(await deadlockOf(fixture, 'main')).toBeNull()
    await fixture.store.settle(b, DONE)
    // The result of b is for a, which can continue.
    expect(await deadlockOf(fixture, 'main')).toBeNull()
    await fixture.store.ack(await fixture.store.lease(RUN, 'a', {}, 'reader of a'))
    await fixture.store.stopWaiting(RUN, 'a', 'reader of a')
    await wait(fixture, 'a')
    expect(await isAlone(fixture, 'a')).toBe(true)
    for (const name of ['main', 'a']) expect(await deadlockOf(fixture, name)).toBeNull()
    await fixture.close()
  })

  test('if parent and children all wait for anyone, only the deepest has nothing to wait for', async () => {
    const fixture = await TestStore.open(kind)
    const a = await fixture.begin('main', 'a')
    const b = await fixture.begin('a', 'b')
    for (const name of ['main', 'a']) await wait(fixture, name)
    const mark = await fixture.store.mark()
    await wait(fixture, 'b')
    expect(await fixture.store.mark()).not.toBe(mark)
    const areAlone = async () =>
      Promise.all(['main', 'a', 'b'].map((name) => isAlone(fixture, name)))
    expect(await areAlone()).toEqual([false, false, true])
    for (const name of ['main', 'a', 'b']) expect(await deadlockOf(fixture, name)).toBeNull()
    await fixture.store.stopWaiting(RUN, 'b', 'reader of b')
    await fixture.store.settle(b, DONE)
    await fixture.store.ack(await fixture.store.lease(RUN, 'a', {}, 'reader of a'))
    await fixture.store.stopWaiting(RUN, 'a', 'reader of a')
    await wait(fixture, 'a')
    expect(await isAlone(fixture, 'main')).toBe(false)
    await fixture.store.settle(a, DONE)
    const [result] = await fixture.store.lease(RUN, 'main', {}, 'reader of main')
    expect(result?.message.from).toBe('a')
    await fixture.close()
  })

  test('an agent whose child cannot get a slot has nothing to wait for, but its parent does', async () => {
    const fixture = await TestStore.open(kind, { limits: { running: 1 } })
    await fixture.begin('main', 'a')
    await fixture.push('a', ['child'])
    await fixture.store.drain(RUN, 'a', 1)
    await wait(fixture, 'main')
    await wait(fixture, 'a')
    expect(await isAlone(fixture, 'a')).toBe(true)
    expect([await isAlone(fixture, 'main'), await deadlockOf(fixture, 'main')]).toEqual([
      false,
      null,
    ])
    await fixture.close()
  })

  test('the end of a task can leave another agent with nothing to wait for', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.begin('main', 'a')
    const b = await fixture.begin('main', 'b')
    await wait(fixture, 'a')
    await wait(fixture, 'main', 'a')
    expect(await isAlone(fixture, 'a')).toBe(false)
    await fixture.store.settle(b, DONE)
    expect(await isAlone(fixture, 'a')).toBe(true)
    const { deadlock } = await fixture.status('main', ['a'])
    expect(deadlock).toBeNull()
    await fixture.close()
  })

  test('the end of a task can leave others in a deadlock', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.begin('main', 'a')
    const b = await fixture.begin('main', 'b')
    await wait(fixture, 'main')
    await wait(fixture, 'a', 'main')
    expect(await deadlockOf(fixture, 'a')).toBeNull()
    await fixture.store.settle(b, DONE)
    await fixture.store.ack(await fixture.store.lease(RUN, 'main', {}, 'reader of main'))
    await fixture.store.stopWaiting(RUN, 'main', 'reader of main')
    await wait(fixture, 'main')
    for (const name of ['main', 'a']) expect(await deadlockOf(fixture, name)).toEqual(['a', 'main'])
    await fixture.close()
  })

  test('an agent that waits for a task without a slot is in a deadlock if all slots are waiting', async () => {
    const fixture = await TestStore.open(kind, { limits: { running: 2 } })
    await fixture.begin('main', 'a')
    await fixture.begin('main', 'b')
    await fixture.push('a', ['child'])
    await fixture.store.drain(RUN, 'a', 1)
    await wait(fixture, 'a', 'child')
    expect(await deadlockOf(fixture, 'a')).toBeNull()
    await wait(fixture, 'b', 'a')
    expect(await deadlockOf(fixture, 'a')).toEqual(['a', 'b'])
    await fixture.close()
  })

  test('an expired wait does not count', async () => {
    const fixture = await TestStore.open(kind, { times: { waitLeaseMs: 1000 } })
    await fixture.begin('main', 'a')
    await wait(fixture, 'main', 'a')
    fixture.clock.pass(1000)
    await wait(fixture, 'a', 'main')
    expect(await deadlockOf(fixture, 'a')).toBeNull()
    await fixture.store.releaseReaders(['reader of a'])
    await wait(fixture, 'main', 'a')
    expect(await deadlockOf(fixture, 'main')).toBeNull()
    await fixture.close()
  })

  test('the wait of a dead reader does not count', async () => {
    const fixture = await TestStore.open(kind)
    await fixture.begin('main', 'a')
    await wait(fixture, 'main', 'a')
    await fixture.store.releaseReaders(['reader of main'])
    await wait(fixture, 'a', 'main')
    expect(await deadlockOf(fixture, 'a')).toBeNull()
    await fixture.close()
  })
}
