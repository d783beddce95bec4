import { expect, spyOn, test } from 'bun:test'
import { join } from 'node:path'
import { TestClock } from '../../tests/contract/queue/test-store.ts'
import { makeProject } from '../../tests/support/project.ts'
import { until } from '../../tests/support/until.ts'
import { QueueClient, generatedName } from './client.ts'
import { SYSTEM_CLOCK, type Clock } from './limits.ts'
import { openSqliteStore } from './sqlite-store.ts'
import type { QueueStore } from './store.ts'

const RUN = 'r'

async function openStore(readerLeaseMs?: number, clock: Clock = SYSTEM_CLOCK): Promise<QueueStore> {
  const times = readerLeaseMs === undefined ? {} : { readerLeaseMs }
  const store = await openSqliteStore(join(makeProject(), 'queue.db'), { times, clock })
  await store.openRun(RUN)
  return store
}

test('a slow reader keeps its lease', async () => {
  const clock = new TestClock()
  const store = await openStore(60, clock)
  const renew = spyOn(store, 'renew')
  const [slow, other] = [new QueueClient(store, RUN, 'main'), new QueueClient(store, RUN, 'main')]
  await other.send('main', 'hello')
  const delivery = await slow.check()
  for (let round = 0; round < 3; round++) {
    clock.pass(40)
    const { length } = renew.mock.results
    await until(() => renew.mock.results.length > length)
    await renew.mock.results[length]!.value
    expect((await other.check()).messages).toEqual([])
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
