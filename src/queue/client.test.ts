import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { makeProject } from '../../tests/support/project.ts'
import { QueueClient, generatedName } from './client.ts'
import { openSqliteStore } from './sqlite-store.ts'
import type { QueueStore } from './store.ts'

const RUN = 'r'

async function openStore(readerLeaseMs?: number): Promise<QueueStore> {
  const times = readerLeaseMs === undefined ? {} : { readerLeaseMs }
  const store = await openSqliteStore(join(makeProject(), 'queue.db'), { times })
  await store.openRun(RUN)
  return store
}

test('a slow reader keeps its lease', async () => {
  const store = await openStore(1500)
  const [slow, other] = [new QueueClient(store, RUN, 'main'), new QueueClient(store, RUN, 'main')]
  await other.send('main', 'hello')
  const delivery = await slow.check()
  const since = performance.now()
  while (performance.now() - since < 3500) {
    expect((await other.check()).messages).toEqual([])
    await Bun.sleep(10)
  }
  expect(await delivery.acknowledge()).toEqual([])
  for (const client of [slow, other]) await client.close()
  expect(await store.verify(RUN)).toEqual([])
  await store.close()
})

test('a late acknowledgement returns the messages whose lease was lost', async () => {
  const store = await openStore()
  const [late, next] = [new QueueClient(store, RUN, 'main'), new QueueClient(store, RUN, 'main')]
  for (const body of ['one', 'two']) await next.send('main', body)
  const delivery = await late.check({ max: 2 })
  await late.close()
  const [first] = (await next.check()).messages
  expect(first).toMatchObject({ body: 'one' })
  expect(await delivery.acknowledge()).toMatchObject([{ body: 'one' }, { body: 'two' }])
  await next.close()
  await store.close()
})

test('unacknowledged messages are returned when the client is closed', async () => {
  const store = await openStore(60)
  const [leaver, next] = [new QueueClient(store, RUN, 'main'), new QueueClient(store, RUN, 'main')]
  await next.send('main', 'hello')
  await leaver.check()
  await leaver.close()
  expect((await next.check()).messages).toHaveLength(1)
  await next.close()
  await store.close()
})

test('generated names of ten thousand tasks are unique and depend only on the id', () => {
  for (let queue = 0; queue < 100; queue += 1) {
    const ids = Array.from({ length: 10_000 }, (_, place) => `t-${queue}-${place}`)
    expect(new Set(ids.map(generatedName)).size).toBe(ids.length)
  }
  expect(generatedName('t-1')).toBe(generatedName('t-1'))
})

test('receive does not report a message that another reader took in the meantime', async () => {
  const store = await openStore()
  await store.push(
    ['a', 'b'].map((name) => ({ id: name, run: RUN, parent: 'main', name, prompt: 'x' })),
  )
  await store.start(RUN, 'main')
  for (const worker of ['1', '2']) {
    const claim = await store.claim(RUN, worker)
    await store.settle(claim!, { success: true, output: 'done' })
  }
  const other = new QueueClient(store, RUN, 'main')
  // Another reader takes a message between reading the status and leasing.
  const overtaken = {
    ...store,
    close: () => store.close(),
    receiveStatus: async (...asked: Parameters<QueueStore['receiveStatus']>) => {
      const status = await store.receiveStatus(...asked)
      await (await other.check({ from: ['a'] })).acknowledge()
      return status
    },
  }
  const client = new QueueClient(overtaken, RUN, 'main')
  const { status, senders, messages } = await client.receive(
    { from: ['a', 'b'] },
    AbortSignal.timeout(5000),
  )
  expect([status, messages.map(({ from }) => from)]).toEqual(['received', ['b']])
  expect(senders.map((sender) => sender.status)).toEqual(['dead', 'received'])
  await client.close()
  await store.close()
})
