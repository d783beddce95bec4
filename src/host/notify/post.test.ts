import { expect, test } from 'bun:test'
import { Webhooks } from '../../../tests/support/webhook.ts'
import { post } from './post.ts'

const NEVER = new AbortController().signal

test('a webhook that does not answer is tried three times', async () => {
  await using webhooks = new Webhooks()
  const problem = await post(new URL(webhooks.url('hangs')), { a: 1 }, NEVER, 50)
  expect(problem).toBe('no answer, in 3 attempts')
  expect(webhooks.sentTo('hangs')).toEqual([{ a: 1 }, { a: 1 }, { a: 1 }])
})

test('sending ends at once when the run is killed', async () => {
  await using webhooks = new Webhooks()
  const force = new AbortController()
  const sending = post(new URL(webhooks.url('hangs')), {}, force.signal, 600_000)
  while (webhooks.received.length === 0) await Bun.sleep(1)
  force.abort()
  expect(await sending).toBe('the run was stopped')
  expect(webhooks.received).toHaveLength(1)
})

test('a user and password in the URL become a header', async () => {
  await using webhooks = new Webhooks()
  const url = new URL(webhooks.url('here'))
  url.username = 'me'
  url.password = 'p%40ss'
  expect(await post(url, {}, NEVER)).toBeUndefined()
  expect(webhooks.received[0]?.authorization).toBe(`Basic ${btoa('me:p@ss')}`)
})
