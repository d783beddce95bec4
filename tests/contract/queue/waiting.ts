import { expect, test } from 'bun:test'
import type { Home } from './home.ts'
import { DONE, newMessage, RUN, Stage } from './stage.ts'

/** The deadlock that is reported to an agent. */
async function deadlockOf(stage: Stage, agent: string): Promise<readonly string[] | null> {
  return (await stage.status(agent)).deadlock
}

/** Whether an agent has nothing to wait for. */
async function isAlone(stage: Stage, agent: string): Promise<boolean> {
  return (await stage.status(agent)).nothingToWaitFor
}

async function wait(stage: Stage, agent: string, ...from: string[]): Promise<void> {
  const query = from.length === 0 ? {} : { from }
  await stage.store.take(RUN, agent, query, `reader of ${agent}`)
}

export function testStatus(home: Home): void {
  test('receiveStatus reports a status for each sender', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    await store.settle(await stage.begin('main', 'over'), DONE)
    const gone = await stage.begin('main', 'gone')
    await store.settle(gone, DONE)
    await store.ack(await store.lease(RUN, 'main', { from: ['gone'] }, 'r'))
    await stage.begin('main', 'busy')
    await stage.push('main', ['next', 'later'])
    await store.start(RUN, 'main', 1)
    const names = ['over', 'gone', 'busy', 'next', 'later', 'nobody']
    const { senders, nothingToWaitFor } = await stage.status('main', names)
    expect(Object.fromEntries(senders.map(({ name, status }) => [name, status]))).toEqual({
      over: 'received',
      gone: 'dead',
      busy: 'running',
      next: 'running',
      later: 'idle',
      nobody: 'dead',
    })
    expect(nothingToWaitFor).toBe(false)
    await stage.strike()
  })

  test('there is nothing to wait for without a message or a possible sender', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    const isOver = async (...from: string[]) => (await stage.status('main', from)).nothingToWaitFor
    expect(await isOver()).toBe(true)
    await stage.push('main', ['a'])
    expect(await isOver()).toBe(true)
    expect(await isOver('a')).toBe(true)
    await store.start(RUN, 'main')
    expect(await isOver()).toBe(false)
    const claim = await stage.claim('a')
    expect(await isOver('a')).toBe(false)
    expect(await isOver('b')).toBe(true)
    await store.settle(claim, DONE)
    expect(await isOver()).toBe(false)
    await store.ack(await store.lease(RUN, 'main', {}, 'r'))
    expect(await isOver()).toBe(true)
    await stage.strike()
  })

  test('a leased message may come back, so there is something to wait for', async () => {
    const stage = await Stage.set(home, { times: { readerLeaseMs: 1000 } })
    await stage.store.send(newMessage('main', 'main', 'hello'))
    await stage.store.lease(RUN, 'main', {}, 'killed')
    const status = await stage.status('main', ['main'])
    expect(status).toMatchObject({ senders: [{ status: 'running' }], nothingToWaitFor: false })
    expect(status.isHeld).toBe(true)
    const ofAnybody = await stage.status('main')
    expect(ofAnybody).toMatchObject({ nothingToWaitFor: false, isHeld: true })
    stage.clock.pass(1000)
    expect((await stage.status('main')).isHeld).toBe(false)
    expect((await stage.status('main', ['main'])).senders[0]!.status).toBe('received')
    await stage.strike()
  })

  test('main can be waited for while it is running', async () => {
    const stage = await Stage.set(home)
    await stage.begin('main', 'a')
    const isOver = async () => (await stage.status('a')).nothingToWaitFor
    expect(await isOver()).toBe(false)
    await stage.store.setMain(RUN, 'idle')
    expect(await isOver()).toBe(true)
    const { senders } = await stage.status('a', ['main'])
    expect(senders).toEqual([{ name: 'main', status: 'idle' }])
    await stage.store.setMain(RUN, 'running')
    expect(await isOver()).toBe(false)
    await stage.strike()
  })

  test('take leases all answers, or none while another reader has one of them', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    for (const name of ['a', 'b']) await store.settle(await stage.begin('main', name), DONE)
    const [held] = await store.lease(RUN, 'main', { from: ['a'] }, 'other')
    const query = { from: ['a', 'b'] }
    const none = await store.take(RUN, 'main', query, 'reader')
    expect(none.leases).toEqual([])
    expect(none.senders.map(({ status }) => status)).toEqual(['running', 'received'])
    await store.ack([held!])
    const rest = await store.take(RUN, 'main', query, 'reader')
    expect(rest.senders.map(({ status }) => status)).toEqual(['dead', 'received'])
    expect(rest.leases.map(({ message }) => message.from)).toEqual(['b'])
    await stage.strike()
  })

  test('take with isLast leases the answers that have arrived', async () => {
    const stage = await Stage.set(home)
    const { store } = stage
    await store.settle(await stage.begin('main', 'a'), DONE)
    await stage.begin('main', 'b')
    const query = { from: ['a', 'b'] }
    expect((await store.take(RUN, 'main', query, 'reader')).leases).toEqual([])
    const { leases } = await store.take(RUN, 'main', { ...query, isLast: true }, 'reader')
    expect(leases.map(({ message }) => message.from)).toEqual(['a'])
    await stage.strike()
  })
}

export function testDeadlocks(home: Home): void {
  test('a deadlock is reported to both agents, even after the first stops waiting', async () => {
    const stage = await Stage.set(home)
    await stage.begin('main', 'a')
    await wait(stage, 'main', 'a')
    expect(await deadlockOf(stage, 'main')).toBeNull()
    await wait(stage, 'a', 'main')
    expect(await deadlockOf(stage, 'main')).toEqual(['a', 'main'])
    await stage.store.stopWaiting(RUN, 'main', 'reader of main')
    expect(await deadlockOf(stage, 'main')).toBeNull()
    expect(await deadlockOf(stage, 'a')).toEqual(['a', 'main'])
    await stage.strike()
  })

  test('a deadlock is reported even if the other agent has ended', async () => {
    const stage = await Stage.set(home)
    const left = await stage.begin('main', 'left')
    await stage.begin('main', 'right')
    await wait(stage, 'left', 'right')
    await wait(stage, 'right', 'left')
    await stage.store.settle(left, DONE)
    const status = await stage.status('right', ['left'])
    expect(status).toMatchObject({ nothingToWaitFor: false, deadlock: ['left', 'right'] })
    await stage.strike()
  })

  test('a deadlock wakes its agents, but a wait alone does not', async () => {
    const stage = await Stage.set(home)
    await stage.begin('main', 'a')
    const before = await stage.store.mark()
    await wait(stage, 'main', 'a')
    await wait(stage, 'main', 'a')
    expect(await stage.store.mark()).toBe(before)
    const woken = stage.store.wait(RUN, before)
    await wait(stage, 'a', 'main')
    expect(await woken).not.toBe(before)
    await stage.strike()
  })

  test('a deadlock of three is reported to them, and not to an agent that waits for them', async () => {
    const stage = await Stage.set(home)
    for (const name of ['a', 'b', 'c', 'd']) await stage.begin('main', name)
    await wait(stage, 'd', 'a')
    await wait(stage, 'a', 'b')
    await wait(stage, 'b', 'c')
    expect(await deadlockOf(stage, 'a')).toBeNull()
    await wait(stage, 'c', 'a')
    for (const name of ['a', 'b', 'c'])
      expect(await deadlockOf(stage, name)).toEqual(['a', 'b', 'c'])
    expect(await deadlockOf(stage, 'd')).toBeNull()
    const mark = await stage.store.mark()
    await wait(stage, 'main', 'd')
    expect(await stage.store.mark()).toBe(mark)
    await stage.strike()
  })

  test('an agent that waits for itself is in a deadlock', async () => {
    const stage = await Stage.set(home)
    await wait(stage, 'main', 'main')
    expect(await deadlockOf(stage, 'main')).toEqual(['main'])
    await stage.strike()
  })

  test('an undelivered message prevents a deadlock', async () => {
    const stage = await Stage.set(home)
    await stage.begin('main', 'a')
    await stage.store.send(newMessage('a', 'main', 'hello'))
    await wait(stage, 'main', 'a')
    await wait(stage, 'a', 'main')
    expect(await deadlockOf(stage, 'main')).toBeNull()
    expect(await deadlockOf(stage, 'a')).toBeNull()
    await stage.strike()
  })

  test('an agent that waits for anyone has nothing to wait for once no other can send', async () => {
    const stage = await Stage.set(home)
    await stage.begin('main', 'a')
    await wait(stage, 'a')
    const b = await stage.begin('a', 'b')
    await wait(stage, 'main')
    expect(await deadlockOf(stage, 'main')).toBeNull()
    await stage.store.settle(b, DONE)
    // The result of b is for a, which can continue.
    expect(await deadlockOf(stage, 'main')).toBeNull()
    await stage.store.ack(await stage.store.lease(RUN, 'a', {}, 'reader of a'))
    await stage.store.stopWaiting(RUN, 'a', 'reader of a')
    await wait(stage, 'a')
    expect(await isAlone(stage, 'a')).toBe(true)
    for (const name of ['main', 'a']) expect(await deadlockOf(stage, name)).toBeNull()
    await stage.strike()
  })

  test('if parent and children all wait for anyone, only the deepest has nothing to wait for', async () => {
    const stage = await Stage.set(home)
    const a = await stage.begin('main', 'a')
    const b = await stage.begin('a', 'b')
    for (const name of ['main', 'a']) await wait(stage, name)
    const mark = await stage.store.mark()
    await wait(stage, 'b')
    expect(await stage.store.mark()).not.toBe(mark)
    const areAlone = async () => Promise.all(['main', 'a', 'b'].map((name) => isAlone(stage, name)))
    expect(await areAlone()).toEqual([false, false, true])
    for (const name of ['main', 'a', 'b']) expect(await deadlockOf(stage, name)).toBeNull()
    await stage.store.stopWaiting(RUN, 'b', 'reader of b')
    await stage.store.settle(b, DONE)
    await stage.store.ack(await stage.store.lease(RUN, 'a', {}, 'reader of a'))
    await stage.store.stopWaiting(RUN, 'a', 'reader of a')
    await wait(stage, 'a')
    expect(await isAlone(stage, 'main')).toBe(false)
    await stage.store.settle(a, DONE)
    const [result] = await stage.store.lease(RUN, 'main', {}, 'reader of main')
    expect(result?.message.from).toBe('a')
    await stage.strike()
  })

  test('an agent whose child cannot get a slot has nothing to wait for, but its parent does', async () => {
    const stage = await Stage.set(home, { limits: { running: 1 } })
    await stage.begin('main', 'a')
    await stage.push('a', ['child'])
    await stage.store.drain(RUN, 'a', 1)
    await wait(stage, 'main')
    await wait(stage, 'a')
    expect(await isAlone(stage, 'a')).toBe(true)
    expect([await isAlone(stage, 'main'), await deadlockOf(stage, 'main')]).toEqual([false, null])
    await stage.strike()
  })

  test('the end of a task can leave another agent with nothing to wait for', async () => {
    const stage = await Stage.set(home)
    await stage.begin('main', 'a')
    const b = await stage.begin('main', 'b')
    await wait(stage, 'a')
    await wait(stage, 'main', 'a')
    expect(await isAlone(stage, 'a')).toBe(false)
    await stage.store.settle(b, DONE)
    expect(await isAlone(stage, 'a')).toBe(true)
    const { deadlock } = await stage.status('main', ['a'])
    expect(deadlock).toBeNull()
    await stage.strike()
  })

  test('the end of a task can leave others in a deadlock', async () => {
    const stage = await Stage.set(home)
    await stage.begin('main', 'a')
    const b = await stage.begin('main', 'b')
    await wait(stage, 'main')
    await wait(stage, 'a', 'main')
    expect(await deadlockOf(stage, 'a')).toBeNull()
    await stage.store.settle(b, DONE)
    await stage.store.ack(await stage.store.lease(RUN, 'main', {}, 'reader of main'))
    await stage.store.stopWaiting(RUN, 'main', 'reader of main')
    await wait(stage, 'main')
    for (const name of ['main', 'a']) expect(await deadlockOf(stage, name)).toEqual(['a', 'main'])
    await stage.strike()
  })

  test('an agent that waits for a task without a slot is in a deadlock if all slots are waiting', async () => {
    const stage = await Stage.set(home, { limits: { running: 2 } })
    await stage.begin('main', 'a')
    await stage.begin('main', 'b')
    await stage.push('a', ['child'])
    await stage.store.drain(RUN, 'a', 1)
    await wait(stage, 'a', 'child')
    expect(await deadlockOf(stage, 'a')).toBeNull()
    await wait(stage, 'b', 'a')
    expect(await deadlockOf(stage, 'a')).toEqual(['a', 'b'])
    await stage.strike()
  })

  test('an expired wait does not count', async () => {
    const stage = await Stage.set(home, { times: { waitLeaseMs: 1000 } })
    await stage.begin('main', 'a')
    await wait(stage, 'main', 'a')
    stage.clock.pass(1000)
    await wait(stage, 'a', 'main')
    expect(await deadlockOf(stage, 'a')).toBeNull()
    await stage.store.releaseReaders(['reader of a'])
    await wait(stage, 'main', 'a')
    expect(await deadlockOf(stage, 'main')).toBeNull()
    await stage.strike()
  })

  test('the wait of a dead reader does not count', async () => {
    const stage = await Stage.set(home)
    await stage.begin('main', 'a')
    await wait(stage, 'main', 'a')
    await stage.store.releaseReaders(['reader of main'])
    await wait(stage, 'a', 'main')
    expect(await deadlockOf(stage, 'a')).toBeNull()
    await stage.strike()
  })
}
