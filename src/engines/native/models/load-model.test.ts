import { expect, test } from 'bun:test'
import type { NativeAgent } from '../../engine.ts'
import { parseModel } from '../model-names.ts'
import { loadModel, makeModelFetch } from './load-model.ts'

const agent = (model: string, more: Partial<NativeAgent> = {}): NativeAgent => ({
  engine: 'native',
  name: 'a',
  systemPrompt: [],
  maxTurns: 1,
  ...parseModel(model),
  ...more,
})

/** Where a model is really asked. */
async function askedAt(asking: NativeAgent, env: Record<string, string>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch(request) {
      resolve(new URL(request.url).pathname)
      return new Response('{}', { status: 400 })
    },
  })
  const here = `http://127.0.0.1:${server.port}`
  const inPlace = (text: string) => text.replace('HERE', here)
  const { baseUrl } = asking
  const model = await loadModel(
    { ...asking, ...(baseUrl === undefined ? {} : { baseUrl: inPlace(baseUrl) }) },
    Object.fromEntries(Object.entries(env).map(([name, value]) => [name, inPlace(value)])),
  )
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'Hi' }] }]
  const asked = Promise.resolve(model.doStream({ prompt })).catch(() => undefined)
  const path = await promise
  await asked
  await server.stop(true)
  return path
}

test.each<[string, NativeAgent, Record<string, string>, string]>([
  ['a host alone', agent('sonnet'), { ANTHROPIC_BASE_URL: 'HERE' }, '/v1/messages'],
  ['with a slash', agent('sonnet'), { ANTHROPIC_BASE_URL: 'HERE/' }, '/v1/messages'],
  ['with a path', agent('sonnet'), { ANTHROPIC_BASE_URL: 'HERE/proxy/v1' }, '/proxy/v1/messages'],
  [
    'a path before the version',
    agent('sonnet'),
    { ANTHROPIC_BASE_URL: 'HERE/proxy' },
    '/proxy/v1/messages',
  ],
  [
    'the same for Google',
    agent('google/x'),
    { GOOGLE_GEMINI_BASE_URL: 'HERE/proxy/' },
    '/proxy/v1beta/models/x:streamGenerateContent',
  ],
  ['a path for OpenAI', agent('openai/x'), { OPENAI_BASE_URL: 'HERE/api' }, '/api/responses'],
  [
    'its own address first',
    agent('sonnet', { baseUrl: 'HERE/own' }),
    { ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' },
    '/own/messages',
  ],
  ['OpenAI', agent('openai/x'), { OPENAI_BASE_URL: 'HERE' }, '/v1/responses'],
  [
    'Google',
    agent('google/x'),
    { GOOGLE_GEMINI_BASE_URL: 'HERE' },
    '/v1beta/models/x:streamGenerateContent',
  ],
  ['a compatible one', agent('compatible/x', { baseUrl: 'HERE/v1' }), {}, '/v1/chat/completions'],
])('the address: %s', async (_, asking, env, path) => {
  const keys = { ANTHROPIC_API_KEY: 'k', OPENAI_API_KEY: 'k', GEMINI_API_KEY: 'k' }
  expect(await askedAt(asking, { ...keys, ...env })).toBe(path)
})

test('a missing key is an error', async () => {
  const words = "Agent 'a' has no key: GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY is not set."
  const asked = loadModel(agent('google/x'), { GEMINI_API_KEY: ' ' }).catch(String)
  expect(await asked).toBe(`UserError: ${words}`)
})

test('a slow request has no timeout', async () => {
  const given: unknown[] = []
  const inner = (_: unknown, init?: RequestInit) => {
    given.push(init)
    return Promise.resolve(new Response())
  }
  const { signal } = new AbortController()
  await makeModelFetch(inner)('http://h', { method: 'POST', signal })
  expect(given).toEqual([{ method: 'POST', signal, timeout: false, redirect: 'manual' }])
})
