import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { forkhestra } from '../support/forkhestra.ts'
import { makeProject } from '../support/project.ts'
import {
  anthropicMessages,
  chatCompletions,
  gemini,
  openaiResponses,
  startProvider,
  stream,
  type ProviderTurn,
  type Render,
  type ScriptedProvider,
} from '../support/providers.ts'

// Answers that end early, as proxies, tunnels and overloaded servers cause: the stream ends cleanly,
// and only its last events are missing.

interface Service {
  readonly render: Render
  readonly agent: (url: string) => object
  readonly env: Readonly<Record<string, string>>
  /** How many events at the end say that the answer is over. */
  readonly ends: number
}

const SERVICES: Readonly<Record<string, Service>> = {
  Anthropic: {
    render: anthropicMessages,
    agent: (baseUrl) => ({ model: 'anthropic/claude-sonnet-5-5', baseUrl }),
    env: { ANTHROPIC_API_KEY: 'k' },
    ends: 2,
  },
  OpenAI: {
    render: openaiResponses,
    agent: (baseUrl) => ({ model: 'openai/gpt-6-sol', baseUrl }),
    env: { OPENAI_API_KEY: 'k' },
    ends: 1,
  },
  Google: {
    render: (turn, number) =>
      turn.text === 'half' || turn.tool !== undefined
        ? [...withoutReason(gemini(turn, number)), { usageMetadata: {} }]
        : gemini(turn, number),
    agent: (baseUrl) => ({ model: 'google/gemini-2.5-pro', baseUrl }),
    env: { GEMINI_API_KEY: 'k' },
    ends: 1,
  },
  'a compatible service': {
    render: chatCompletions,
    agent: (baseUrl) => ({ model: 'compatible/m', baseUrl }),
    env: {},
    ends: 1,
  },
}

function withoutReason(events: readonly object[]): object[] {
  return JSON.parse(JSON.stringify(events).replaceAll('"finishReason":"STOP",', '')) as object[]
}

const WHOLE: ProviderTurn = { text: 'Now whole.' }

async function play({ agent, env }: Service, provider: ScriptedProvider) {
  const agents = { nat: { engine: 'native', queue: false, ...agent(provider.url) } }
  const cwd = makeProject({ 'forge/orch/chains.json': JSON.stringify({ agents, chains: {} }) })
  const ended = await forkhestra(['nat', '-p', 'Go'], { cwd, env })
  return { ...ended, cwd }
}

function cut({ render, ends }: Service, turn: ProviderTurn): ProviderTurn {
  return stream(render(turn, 1).slice(0, -ends))
}

const TOUCH = { tool: { name: 'bash', input: { command: 'echo x >> effect' } } }

const cases = Object.entries(SERVICES).flatMap(([name, service]) => [
  [name, 'in the middle of a text', service, cut(service, { text: 'half' })] as const,
  [name, 'after a complete tool call', service, cut(service, TOUCH)] as const,
  [name, 'before anything was said', service, stream([])] as const,
  [
    name,
    'with a login page',
    service,
    { verbatim: { type: 'text/html', body: '<html>Please log in</html>' } },
  ] as const,
  [
    name,
    'with garbage',
    service,
    { verbatim: { type: 'text/event-stream', body: 'data: {"id": garbage\n\n' } },
  ] as const,
])

test.each(cases)('%s: an answer that ends %s is requested again', async (_, __, service, turn) => {
  await using provider = await startProvider(service.render, [turn, WHOLE])
  const { code, stdout, stderr, cwd } = await play(service, provider)
  expect(`${code} ${stderr}`).toMatch(/^0 .*retrying the request[^\n]*\(1\/4\)/s)
  expect(stdout).toContain('Now whole.')
  expect(provider.requests).toHaveLength(2)
  expect(existsSync(join(cwd, 'effect'))).toBe(false)
})

test('an answer that announces a call but has none is requested again', async () => {
  const service = SERVICES['a compatible service']!
  const events = chatCompletions({ text: 'I look.' }, 1)
  const promise = JSON.parse(JSON.stringify(events).replace('"stop"', '"tool_calls"')) as object[]
  await using provider = await startProvider(service.render, [stream(promise), WHOLE])
  const { code, stdout } = await play(service, provider)
  expect(code).toBe(0)
  expect(stdout).toContain('Now whole.')
  expect(provider.requests).toHaveLength(2)
})

test('a complete answer counts once, and its calls are made once', async () => {
  const service = SERVICES['OpenAI']!
  await using provider = await startProvider(service.render, [cut(service, TOUCH), TOUCH, WHOLE])
  const { code, cwd } = await play(service, provider)
  expect(code).toBe(0)
  expect(readFileSync(join(cwd, 'effect'), 'utf8')).toBe('x\n')
})

test('a call cut off by the output limit is not made, and its result says why', async () => {
  const service = SERVICES['a compatible service']!
  const events = JSON.stringify(chatCompletions(TOUCH, 1))
  const short = events.replace(String.raw`effect\"}`, 'eff')
  const cutCall = JSON.parse(short.replace(/"tool_calls"(?=\})/, '"length"')) as object[]
  await using provider = await startProvider(service.render, [stream(cutCall), WHOLE])
  const { code, cwd } = await play(service, provider)
  expect(code).toBe(0)
  expect(existsSync(join(cwd, 'effect'))).toBe(false)
  expect(JSON.stringify(provider.requests[1]?.body['messages'])).toContain(
    'cut off at the output limit before it was complete',
  )
})

/** An answer that ends at the output limit. */
const atLength = (text: string) =>
  stream(
    JSON.parse(
      JSON.stringify(anthropicMessages({ text }, 1)).replace('"end_turn"', '"max_tokens"'),
    ) as object[],
  )

function inTwoBlocks(one: string, two: string): ProviderTurn {
  const [first, second] = [anthropicMessages({ text: one }, 1), anthropicMessages({ text: two }, 1)]
  const block = JSON.parse(
    JSON.stringify(second.slice(1, 4)).replaceAll('"index":0', '"index":1'),
  ) as object[]
  return stream([...first.slice(0, 4), ...block, ...second.slice(4)])
}

test.each<[string, readonly ProviderTurn[], string]>([
  ['at the output limit', [atLength('One, t'), { text: 'wo.' }], 'One, two.'],
  ['by a thought', [inTwoBlocks('One.', 'Two.')], 'One.\\nTwo.'],
])('the result of a sub-agent is its whole last answer, cut %s', async (_, turns, output) => {
  const service = SERVICES['Anthropic']!
  await using provider = await startProvider(service.render, turns)
  const agents = { nat: { engine: 'native', ...service.agent(provider.url) } }
  const cwd = makeProject({ 'forge/orch/chains.json': JSON.stringify({ agents, chains: {} }) })
  const { env } = service
  expect((await forkhestra(['push', '--agent', 'nat', 'Count.'], { cwd, env })).code).toBe(0)
  expect((await forkhestra(['run-queue'], { cwd, env })).code).toBe(0)
  const { stdout } = await forkhestra(['check', '--json'], { cwd, env })
  expect(stdout).toContain(output)
})
