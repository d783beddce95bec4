import { expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ScriptSource } from '../../src/fake-model/script-schema.ts'
import type { Outcome } from '../../src/records/events/schema.ts'
import { forkhestra } from '../support/forkhestra.ts'
import {
  asked,
  conversationOf,
  openNative,
  untilWaiting,
  type StageOptions,
} from '../support/native.ts'
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
import { journalOf, ofType } from '../support/record.ts'

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

const atLimit = (text: string) => ({ text, stopReason: 'max_tokens' })
const EXITED: Outcome = { kind: 'exited', code: 0 }

async function verdictOf(script: ScriptSource, agent: StageOptions['agent'] = {}) {
  await using stage = await openNative(script, { agent })
  const events = await stage.events('nat:1', '-p', 'Go')
  return {
    outcome: ofType(events, 'iteration_ended').at(-1)?.outcome,
    refused: ofType(events, 'marker_refused').map(({ why }) => why),
    code: ofType(events, 'run_ended')[0]?.exitCode,
  }
}

test.each<[string, readonly string[], Outcome, readonly string[]]>([
  [
    'a code fence',
    ['When all is done I will print:\n```\n', 'ORCHESTRA_COMPLETE\n```\nTwo tests still fail.'],
    EXITED,
    ['code_fence'],
  ],
  [
    'a code fence of three parts',
    ['I will print:\n```', '\nORCHESTRA_COMPLETE\n', '```\nNot yet.'],
    EXITED,
    ['code_fence'],
  ],
  [
    'a sentence after it',
    ['I will print\nORCHESTRA_COMPLETE', ' only when done. Not yet.'],
    EXITED,
    ['longer_line'],
  ],
  ['a sentence before it', ['I shall not say ', 'ORCHESTRA_COMPLETE'], EXITED, ['longer_line']],
  ['a sentence before a blocked line', ['I am not ', 'ORCHESTRA_BLOCKED: x'], EXITED, []],
  ['the marker itself', ['All done\nORCHESTRA_', 'COMPLETE'], { kind: 'marker' }, []],
  ['a line break', ['All done', '\n', 'ORCHESTRA_COMPLETE'], { kind: 'marker' }, []],
  ['a fence that is closed', ['```\ncode\n', '```\nORCHESTRA_COMPLETE'], { kind: 'marker' }, []],
  [
    'a blocked line',
    ['ORCHESTRA_COMPLETE\nORCHESTRA_BLOCKED: no ', 'key'],
    { kind: 'blocked', reason: 'no key' },
    [],
  ],
])('an answer cut in %s is one message', async (_, texts, outcome, refused) => {
  const script = [...texts.slice(0, -1).map(atLimit), { text: texts.at(-1)! }]
  const { code, ...verdict } = await verdictOf(script)
  expect(verdict as object).toEqual({ outcome, refused })
  expect(code === 0).toBe(outcome.kind === 'marker')
})

test.each<[string, Outcome['kind'], string]>([
  ['on a whole line', 'marker', 'ORCHESTRA_COMPLETE\nAnd'],
  ['on its last line', 'max_turns', 'I will print\nORCHESTRA_COMPLETE'],
  ['in an open fence', 'max_turns', '```\nORCHESTRA_COMPLETE\n'],
])('a marker %s of an answer that is never continued: %s', async (_, kind, text) => {
  expect((await verdictOf([atLimit(text)], { maxTurns: 1 })).outcome?.kind).toBe(kind)
})

test('an answer that is cut, and continued after a limit, is one message', async () => {
  const limit = { error: { status: 429, headers: { 'retry-after': '61' } } }
  const texts = ['I will print:\n```\nORCHESTRA_COMPLETE', '\n```\nNot yet.'] as const
  await using stage = await openNative([atLimit(texts[0]), limit, { text: texts[1] }])
  const running = stage.start('nat:1', '-p', 'Go')
  const run = await untilWaiting(stage.cwd)
  expect((await stage.run('retry-now', run)).code).toBe(0)
  expect((await running.finished).code).toBe(1)
  const events = journalOf(stage.cwd, run)
  expect(ofType(events, 'marker_refused').map(({ why }) => why)).toEqual(['code_fence'])
  expect(ofType(events, 'iteration_ended').at(-1)?.outcome).toEqual({ kind: 'exited', code: 0 })
})

test('the report about a spent budget does not continue a cut answer', async () => {
  const usage = { input: 100_000, output: 1000 }
  const script = [
    { ...atLimit('I shall not say '), usage },
    { text: 'ORCHESTRA_COMPLETE', usage },
  ]
  const { outcome } = await verdictOf(script, { maxCostUsd: 0.5 })
  expect(outcome).toEqual({ kind: 'marker' })
})

test.each([
  ['without a call', {}],
  ['with a call', { tool: { name: 'bash', input: { command: 'touch effect' } } }],
])('a refused answer %s fails, and nothing is run', async (_, call) => {
  const refused = { text: 'I cannot.\nORCHESTRA_COMPLETE', stopReason: 'refusal', ...call }
  await using stage = await openNative([refused, { text: 'Never.' }])
  const events = await stage.events('nat:1', '-p', 'Go')
  expect(ofType(events, 'iteration_ended')[0]?.outcome).toMatchObject({
    kind: 'exited',
    error: "the provider's content filter stopped the answer",
  })
  expect(ofType(events, 'run_ended')[0]?.exitCode).toBe(1)
  expect(asked(stage)).toHaveLength(1)
  expect(existsSync(join(stage.cwd, 'effect'))).toBe(false)
  expect(conversationOf(stage.cwd).at(-2)).toMatchObject({ finish: 'content-filter' })
})
