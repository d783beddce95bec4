import { expect, test } from 'bun:test'
import { forkhestra, Running } from '../support/forkhestra.ts'
import { asked, openNative } from '../support/native.ts'
import { makeProject } from '../support/project.ts'
import {
  chatCompletions,
  gemini,
  openaiResponses,
  startProvider,
  type ProviderTurn,
  type Render,
  type ScriptedProvider,
} from '../support/providers.ts'

// What goes over the wire to each provider: files that /read has handed over as if the model had
// asked for them, its own calls, and their answers.

const FILES = {
  'a.md': 'alpha\nbeta\n',
  'prompt.md': '/read a.md\n/read gone.md\nCompare them.',
}
const ARGS = ['nat', '--prompt-file', 'prompt.md']
const GONE = 'File does not exist: gone.md'
const TURNS: readonly ProviderTurn[] = [
  { text: 'I list.', tool: { name: 'glob', input: { pattern: '*.md' } } },
  { text: 'Both are short.' },
]

async function play(
  provider: ScriptedProvider,
  agent: Readonly<Record<string, unknown>>,
  env: Readonly<Record<string, string>>,
) {
  const agents = { nat: { engine: 'native', queue: false, ...agent } }
  const configuration = JSON.stringify({ agents, chains: {} })
  const cwd = makeProject({ ...FILES, 'forge/orch/chains.json': configuration })
  const ended = await forkhestra(ARGS, { cwd, env })
  expect(`${ended.code} ${ended.stdout}${ended.stderr}`).toMatch(/^0 [^]*Both are short\./)
  expect(provider.requests).toHaveLength(2)
  const headers = provider.requests.flatMap((request) => Object.keys(request.headers))
  expect(headers.filter((name) => name.includes('forkhestra'))).toEqual([])
  return { ...ended, bodies: provider.requests.map(({ body }) => body) }
}

test('Anthropic: two reads are one turn of calls and one of results before the prompt', async () => {
  await using stage = await openNative(
    [{ text: 'I list.', tool: TURNS[0]!.tool! as never }, { text: 'Both are short.' }],
    { agent: { queue: false }, files: FILES },
  )
  expect((await stage.run(...ARGS)).code).toBe(0)
  const [first, second] = asked(stage)
  const [before, calls, results] = first!.messages
  expect(first!.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  expect(before!.content).toMatchObject([{ type: 'text' }])
  expect(calls!.content).toMatchObject(
    [
      { type: 'tool_use', name: 'read', input: { path: 'a.md' }, id: /^toolu_read_0_/ },
      { type: 'tool_use', name: 'read', input: { path: 'gone.md' }, id: /^toolu_read_1_/ },
    ].map(({ id, ...rest }) => ({ ...rest, id: expect.stringMatching(id) })),
  )
  expect(results!.content).toMatchObject([
    { type: 'tool_result', tool_use_id: calls!.content[0]!['id'], content: '1\talpha\n2\tbeta' },
    { type: 'tool_result', tool_use_id: calls!.content[1]!['id'], content: GONE, is_error: true },
    { type: 'text', text: 'Compare them.' },
  ])
  expect(results!.content[0]).not.toHaveProperty('is_error')
  expect(first!.tools?.map(({ name }) => name)).toContain('read')
  expect(second!.messages).toHaveLength(5)
})

test('a scripted model can tell identical conversations apart', async () => {
  const turns = (name: string) => [
    { tool: { name: 'write', input: { path: name, content: '' } } },
    { text: `Wrote ${name}.` },
  ]
  const script = { conversations: [{ sessions: [turns('one'), turns('other')] }] }
  await using stage = await openNative(script)
  const ends = await Promise.all([
    stage.run('nat', '-p', 'Go', '--anyway'),
    stage.run('nat', '-p', 'Go', '--anyway'),
  ])
  expect(ends.map(({ code }) => code)).toEqual([0, 0])
  const written = ends.map(({ stdout }) => /Wrote \w+/.exec(stdout)?.[0])
  expect(new Set(written)).toEqual(new Set(['Wrote one', 'Wrote other']))
})

test('only the scripted model gets the conversation header', async () => {
  await using provider = await startProvider(chatCompletions, TURNS)
  const env = { FORKHESTRA_FAKE_MODEL: 'http://127.0.0.1:1' }
  await play(provider, { model: 'compatible/m', baseUrl: `${provider.url}/v1` }, env)
})

test('the same prompt gives the same ids, so that caches stay valid', async () => {
  const script = { conversations: [{ turns: [{ text: 'Hm.' }], repeat: true }] }
  await using stage = await openNative(script, { files: FILES })
  await stage.run(...ARGS)
  await stage.run(...ARGS)
  const [one, other] = asked(stage)
  expect(JSON.stringify(one)).toBe(JSON.stringify(other))
})

test('OpenAI: calls and outputs are separate items, and nothing is stored', async () => {
  await using provider = await startProvider(openaiResponses, TURNS)
  const env = { OPENAI_API_KEY: 'k-openai', OPENAI_BASE_URL: `${provider.url}/v1` }
  const { bodies, stdout } = await play(provider, { model: 'openai/gpt-6-sol' }, env)
  expect(provider.requests[0]).toMatchObject({
    path: '/v1/responses',
    headers: { authorization: 'Bearer k-openai' },
  })
  const [first, second] = bodies
  expect(first).toMatchObject({ model: 'gpt-6-sol', stream: true, store: false })
  const input = first!['input'] as Readonly<Record<string, unknown>>[]
  const [, , call0, call1] = input
  expect(input.slice(1)).toMatchObject([
    { role: 'user' },
    { type: 'function_call', name: 'read', arguments: '{"path":"a.md"}' },
    { type: 'function_call', name: 'read', arguments: '{"path":"gone.md"}' },
    { type: 'function_call_output', call_id: call0!['call_id'], output: '1\talpha\n2\tbeta' },
    {
      type: 'function_call_output',
      call_id: call1!['call_id'],
      output: JSON.stringify({ error: GONE }),
    },
    { role: 'user', content: [{ type: 'input_text', text: 'Compare them.' }] },
  ])
  const grown = second!['input'] as unknown[]
  expect(grown.slice(0, input.length)).toEqual(input)
  expect(grown.slice(input.length)).toMatchObject([
    { role: 'assistant', content: 'I list.' },
    { type: 'function_call', name: 'glob', call_id: 'call_1' },
    { type: 'function_call_output', call_id: 'call_1' },
  ])
  expect(stdout).toContain('240 tokens')
})

test('Google: calls and responses are parts of one turn each', async () => {
  await using provider = await startProvider(gemini, TURNS)
  const env = { GEMINI_API_KEY: 'k-google', GOOGLE_GEMINI_BASE_URL: provider.url }
  const { bodies } = await play(provider, { model: 'google/gemini-2.5-pro' }, env)
  expect(provider.requests[0]).toMatchObject({
    path: '/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
    headers: { 'x-goog-api-key': 'k-google' },
  })
  const [first, second] = bodies
  const contents = first!['contents'] as { role: string; parts: Record<string, unknown>[] }[]
  const [, calls, results] = contents
  expect(contents[0]).toMatchObject({ role: 'user' })
  expect(calls).toMatchObject({
    role: 'model',
    parts: [
      { functionCall: { name: 'read', args: { path: 'a.md' } } },
      { functionCall: { name: 'read', args: { path: 'gone.md' } } },
    ],
  })
  expect(results).toMatchObject({ role: 'user' })
  expect(JSON.stringify(results)).toContain(String.raw`1\talpha\n2\tbeta`)
  expect(JSON.stringify(results)).toContain(GONE)
  expect(JSON.stringify(contents.at(-1))).toContain('Compare them.')
  expect(first).toHaveProperty('systemInstruction')
  const grown = second!['contents'] as { parts: Record<string, unknown>[] }[]
  expect(grown.slice(0, contents.length)).toEqual(contents)
  const own = grown[contents.length]!.parts.find((part) => 'functionCall' in part)
  expect(own).toMatchObject({ thoughtSignature: 'signed' })
})

test('Google: calls made up for files have a thought signature', async () => {
  await using provider = await startProvider(gemini, TURNS)
  const env = { GOOGLE_GENERATIVE_AI_API_KEY: 'k', GOOGLE_GEMINI_BASE_URL: provider.url }
  const { bodies } = await play(provider, { model: 'gemini-3-pro-preview' }, env)
  const [, calls] = bodies[0]!['contents'] as { parts: Record<string, unknown>[] }[]
  for (const part of calls!.parts) expect(part['thoughtSignature']).toBeString()
})

test('a compatible service is called at its address with its key', async () => {
  await using provider = await startProvider(chatCompletions, TURNS)
  const agent = {
    model: 'compatible/llama',
    baseUrl: `${provider.url}/api/v1`,
    apiKeyEnv: 'MY_KEY',
  }
  const { bodies } = await play(provider, agent, { MY_KEY: 'k-mine' })
  expect(provider.requests[0]).toMatchObject({
    path: '/api/v1/chat/completions',
    headers: { authorization: 'Bearer k-mine' },
  })
  const messages = bodies[0]!['messages'] as Record<string, unknown>[]
  expect(messages.map(({ role }) => role)).toEqual([
    'system',
    'user',
    'assistant',
    'tool',
    'tool',
    'user',
  ])
  expect(messages[2]?.['tool_calls']).toMatchObject([
    { function: { name: 'read', arguments: '{"path":"a.md"}' } },
    { function: { name: 'read', arguments: '{"path":"gone.md"}' } },
  ])
  expect(messages[4]).toMatchObject({ role: 'tool', content: GONE })
})

test('without a read tool, files are put into the prompt', async () => {
  await using provider = await startProvider(chatCompletions, [{}, { text: 'Both are short.' }])
  const agent = { model: 'compatible/small', baseUrl: provider.url, tools: false }
  const agents = { nat: { engine: 'native', ...agent } }
  const configuration = JSON.stringify({ agents, chains: {} })
  const cwd = makeProject({ ...FILES, 'forge/orch/chains.json': configuration })
  expect((await forkhestra(ARGS, { cwd })).code).toBe(0)
  const [{ body }] = provider.requests as [ScriptedProvider['requests'][number]]
  expect(body).not.toHaveProperty('tools')
  const messages = body['messages'] as { role: string; content: string }[]
  expect(messages.map(({ role }) => role)).toEqual(['system', 'user'])
  expect(messages[1]!.content).toMatch(/<file path="a\.md"[^]*alpha[^]*error=[^]*Compare them\.$/)
})

const LIMITS: readonly [string, Parameters<typeof startProvider>[0], object, object, object][] = [
  [
    'Google',
    gemini,
    { model: 'google/gemini-2.5-pro' },
    { GEMINI_API_KEY: 'k' },
    {
      status: 429,
      body: {
        error: {
          code: 429,
          message: 'You exceeded your current quota, please check your plan and billing details.',
          status: 'RESOURCE_EXHAUSTED',
          details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.01s' }],
        },
      },
    },
  ],
  [
    'OpenAI',
    openaiResponses,
    { model: 'openai/gpt-6-sol' },
    { OPENAI_API_KEY: 'k' },
    {
      status: 429,
      headers: { 'retry-after-ms': '10' },
      body: {
        error: {
          message: 'Rate limit reached. See https://platform.openai.com/account/billing.',
          code: 'rate_limit_exceeded',
        },
      },
    },
  ],
]

test.each(LIMITS)(
  '%s: a rate limit whose message mentions billing is waited for',
  async (...args) => {
    const [, render, agent, env, error] = args
    const turns = [{ error }, ...TURNS] as readonly ProviderTurn[]
    await using provider = await startProvider(render, turns)
    const agents = { nat: { engine: 'native', queue: false, ...agent, baseUrl: provider.url } }
    const configuration = JSON.stringify({ agents, chains: {} })
    const cwd = makeProject({ 'forge/orch/chains.json': configuration })
    const { code, stdout, stderr } = await forkhestra(['nat', '-p', 'Go'], { cwd, env: { ...env } })
    expect(`${code} ${stderr}`).toMatch(/^0 .*retrying the request in 0\.0 s \(1\/4\): 429/s)
    expect(stdout).toContain('Both are short.')
  },
)

const REDIRECTED: readonly (readonly [string, Render, object, Readonly<Record<string, string>>])[] =
  [
    ['Google', gemini, { model: 'google/gemini-2.5-pro' }, { GEMINI_API_KEY: 'k' }],
    ['OpenAI', openaiResponses, { model: 'openai/gpt-6-sol' }, { OPENAI_API_KEY: 'k' }],
    ['a compatible service', chatCompletions, { model: 'compatible/m' }, {}],
  ]

test.each(REDIRECTED)('%s: a redirect is not followed', async (_, render, agent, env) => {
  await using other = await startProvider(render, TURNS)
  const error = { status: 307, body: {}, headers: { location: `${other.url}/elsewhere` } }
  await using provider = await startProvider(
    render,
    Array.from({ length: 5 }, () => ({ error })),
  )
  const agents = { nat: { engine: 'native', queue: false, ...agent, baseUrl: provider.url } }
  const configuration = JSON.stringify({ agents, chains: {} })
  const cwd = makeProject({ 'forge/orch/chains.json': configuration })
  const running = new Running(['nat', '-p', 'Go'], { cwd, env: { ...env } })
  await running.printed(`${provider.url} redirects to ${other.url}; redirects are not followed`)
  running.signal('SIGKILL')
  await running.finished
  expect(other.requests).toEqual([])
})
