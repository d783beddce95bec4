import { expect, test } from 'bun:test'
import { PendingRequests } from './pending-requests.ts'

const CALL = { jsonrpc: '2.0', id: 1, method: 'tools/call' } as const
const ANSWER = { jsonrpc: '2.0', id: 1, result: {} } as const

test('a running call is waited for, however long it takes', async () => {
  const order: string[] = []
  const pending = new PendingRequests(0)
  pending.add(CALL)
  const call = Bun.sleep(50).then(() => order.push('call'))
  pending.work(call)
  await pending.end()
  order.push('end')
  expect(order).toEqual(['call', 'end'])
})

test('a request that no call works on is waited for only for a while', async () => {
  const pending = new PendingRequests(0)
  pending.add(CALL)
  await pending.end()
})

test('the end comes with the last answer', async () => {
  const pending = new PendingRequests(3_600_000)
  pending.add(CALL)
  const end = pending.end()
  pending.take(ANSWER)
  await end
})
