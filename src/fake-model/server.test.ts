import { afterEach, expect, test } from 'bun:test'
import type { ScriptSource } from './script-schema.ts'
import { startFakeModel, type FakeModel } from './server.ts'

const running: FakeModel[] = []

afterEach(async () => {
  for (const model of running.splice(0)) await model.stop()
})

async function start(script: ScriptSource): Promise<FakeModel> {
  const model = await startFakeModel(script)
  running.push(model)
  return model
}

const HELLO = { model: 'm', messages: [{ role: 'user', content: 'hello' }] }

function ask(model: FakeModel, fields: object = {}, headers: Record<string, string> = {}) {
  return fetch(`${model.url}/v1/messages?beta=true`, {
    method: 'POST',
    headers: { 'x-api-key': 'secret', ...headers },
    body: JSON.stringify({ ...HELLO, ...fields }),
  })
}

test('an answer is sent whole or as a stream, as requested', async () => {
  const model = await start([{ text: 'one' }, { text: 'two', chunkDelayMs: 1 }])
  expect(await (await ask(model)).json()).toMatchObject({ content: [{ text: 'one' }], model: 'm' })
  const stream = await ask(model, { stream: true })
  expect(stream.headers.get('content-type')).toBe('text/event-stream')
  expect(await stream.text()).toMatch(/^event: message_start\n[^]*"two"[^]*event: message_stop\n/)
})

test('an error has its status, headers and shape', async () => {
  const error = { status: 429, message: 'slow', headers: { 'retry-after': '7' } }
  const response = await ask(await start([{ error }]))
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, '7'])
  expect(await response.json()).toEqual({
    type: 'error',
    error: { type: 'rate_limit_error', message: 'slow' },
  })
})

test('an answer has the headers of its turn', async () => {
  const headers = { 'x-quota': 'nearly used up' }
  const model = await start([
    { text: 'one', headers },
    { error: { status: 500 }, headers },
  ])
  for (const status of [200, 500]) {
    const response = await ask(model)
    expect([response.status, response.headers.get('x-quota')]).toEqual([status, 'nearly used up'])
  }
})

test.each([{ stream: true }, { stream: false }])('%j: a dropped answer breaks off', async (how) => {
  const model = await start([{ text: 'some words that are cut', drop: true }, { text: 'next' }])
  const read = ask(model, how).then((response) => response.text())
  expect(await read.catch(() => 'broken off')).toBe('broken off')
  expect((await ask(model)).status).toBe(200)
})

test('a request without a turn is refused with the reason, and recorded', async () => {
  const model = await start([{ text: 'only' }])
  await ask(model)
  const response = await ask(model)
  expect(response.status).toBe(410)
  expect(await response.text()).toContain('the script has only 1 turn')
  expect(model.requests.map(({ turn, stray }) => turn ?? stray)).toEqual([
    '[0]',
    'the script has only 1 turn',
  ])
  expect(model.requests[0]?.headers['x-api-key']).toBe('***')
  expect(model.requests[0]?.body).toEqual(HELLO)
})

test('each process and each of its sub-agents is a session', async () => {
  const model = await start({
    conversations: [{ sessions: [[{ text: 'a' }, { text: 'b' }]], repeat: true }],
  })
  const session = (id: string, agent?: string) => ({
    'x-claude-code-session-id': id,
    ...(agent === undefined ? {} : { 'x-claude-code-agent-id': agent }),
  })
  const callers = [session('1'), session('2'), session('1', 'x'), session('1'), session('1', 'x')]
  for (const headers of callers) await ask(model, {}, headers)
  const places = model.requests.map(({ turn = '' }) => turn.slice(-3))
  expect(places).toEqual(['[0]', '[0]', '[0]', '[1]', '[1]'])
})

test('user messages are found among reminders and blocks', async () => {
  const model = await start({
    conversations: [{ when: { system: 'You build$', prompt: '^Go$' }, turns: [{ text: 'a' }] }],
  })
  const system = [
    { type: 'text', text: 'General' },
    { type: 'text', text: 'You build' },
  ]
  const content = [
    { type: 'text', text: '<system-reminder>note</system-reminder>' },
    { type: 'text', text: 'Go' },
  ]
  const messages = [
    { role: 'system', content: 'x' },
    { role: 'user', content },
  ]
  expect((await ask(model, { system, messages })).status).toBe(200)
})

test('other paths that claude needs are answered', async () => {
  const { url } = await start([{ text: 'a' }])
  const status = async (method: string, path: string) =>
    (await fetch(`${url}${path}`, { method, ...(method === 'POST' ? { body: '{}' } : {}) })).status
  expect(await status('HEAD', '/')).toBe(200)
  expect(await status('HEAD', '/api/hello')).toBe(200)
  expect(await status('POST', '/v1/messages/count_tokens')).toBe(200)
  expect(await status('POST', '/v1/messages')).toBe(400)
  expect(await status('GET', '/v1/models')).toBe(404)
})

test('stopping does not wait for a delayed answer', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const script = [{ text: 'late', delayMs: 3_600_000 }]
  const model = await startFakeModel(script, { onRequest: () => resolve() })
  const answer = ask(model).catch(() => 'gone')
  await promise
  await model.stop()
  expect(await answer).toBe('gone')
})

test('a client that disconnects mid-request does no harm', async () => {
  const model = await start([{ text: 'a' }])
  const { hostname, port } = new URL(model.url)
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data() {} } })
  socket.write('POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{"model"')
  socket.flush()
  socket.terminate()
  expect((await ask(model)).status).toBe(200)
})

test('a port in use is a user error', async () => {
  const { url } = await start([{ text: 'a' }])
  const port = Number(url.split(':').at(-1))
  const refusal: unknown = await startFakeModel([{ text: 'a' }], { port }).catch((error) => error)
  expect(refusal).toMatchObject({ message: `Port ${port} is in use.`, exitCode: 2 })
})
