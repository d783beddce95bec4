import { expect, test } from 'bun:test'
import { copyFileSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { MODE_AWARENESS_PREFIX } from '../../src/chain/prompts/system-prompt.ts'
import { commands, eventsOf, openStage, outcomes } from './support/stage.ts'
import { bash, DONE, writes } from './support/writer.ts'

const once = { iterations: 1 }

/** Otherwise `claude` holds most tools back until the model searches for them. */
const ALL_TOOLS = { ENABLE_TOOL_SEARCH: 'false' }

/** The value after an option. */
function valueOf(argv: readonly string[] | undefined, option: string): string | undefined {
  return argv?.[argv.indexOf(option) + 1]
}

/** A server with one tool, in as few lines as the protocol allows. */
const MCP_SERVER = `#!${process.execPath}
import { createInterface } from 'node:readline'
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'bell', version: '1.0.0' },
  }),
  'tools/list': () => ({
    tools: [{ name: 'ring', description: 'Rings', inputSchema: { type: 'object', properties: {} } }],
  }),
  'tools/call': () => ({ content: [{ type: 'text', text: 'It rang.' }] }),
}
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  const answer = answers[method]
    ? { result: answers[method](params) }
    : { error: { code: -32601, message: 'no such method' } }
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
}
`

test('every field of an agent reaches claude', async () => {
  const files = {
    'bell.mjs': MCP_SERVER,
    'mcp.json': '{ "mcpServers": { "bell": { "command": "./bell.mjs" } } }',
    'settings.json': '{ "env": { "FROM_SETTINGS": "a value of the settings" } }',
    'writer.md': 'You ring the bell.\n',
  }
  const agent = {
    systemPromptText: '',
    systemPrompt: 'writer.md',
    model: 'haiku',
    maxTurns: 7,
    mcpConfig: 'mcp.json',
    settings: 'settings.json',
    disallowedTools: ['WebSearch', 'WebFetch'],
  }
  const script = [
    { tool: { name: 'mcp__bell__ring', input: {} } },
    { tool: bash('echo "$FROM_SETTINGS"') },
    DONE,
  ]
  await using stage = await openStage({ script, files, env: ALL_TOOLS, ...writes(agent, once) })
  const result = await stage.runJson('--chain', 'w')
  expect(outcomes(result)).toEqual([{ kind: 'marker' }])

  const [argv] = commands(result)
  expect(argv?.slice(1, 3)).toEqual(['--print', '--dangerously-skip-permissions'])
  expect(valueOf(argv, '--max-turns')).toBe('7')
  expect(valueOf(argv, '--mcp-config')).toBe(join(stage.cwd, 'mcp.json'))
  expect(valueOf(argv, '--settings')).toBe(join(stage.cwd, 'settings.json'))
  expect(argv?.slice(-2)).toEqual(['--', 'Write.'])

  const [first, , last] = stage.asks
  expect(first?.model).toContain('haiku')
  expect(first?.system).toContain(`${MODE_AWARENESS_PREFIX}You ring the bell.`)
  expect(first?.tools).toContain('mcp__bell__ring')
  expect(first?.tools).toContain('Bash')
  expect(first?.tools).not.toContain('WebSearch')
  expect(first?.tools).not.toContain('WebFetch')
  expect(last?.results).toEqual(['It rang.', 'a value of the settings'])
})

test('allowedTools is a whitelist: the model is offered these tools and no others', async () => {
  const agent = { allowedTools: ['Read', 'Bash(git:*)'] }
  const call = { name: 'Write', input: { file_path: 'page.txt', content: 'x' } }
  const script = [{ tool: call }, DONE]
  await using stage = await openStage({ script, env: ALL_TOOLS, ...writes(agent, once) })
  const { code, stderr } = await stage.run('--chain', 'w')
  expect(stage.asks[0]?.tools.toSorted()).toEqual(['Bash', 'Read'])
  expect(existsSync(join(stage.cwd, 'page.txt'))).toBe(false)
  expect(stderr).toBe(
    `[forkhestra] Warning: agent 'writer': "Bash(git:*)" cannot be enforced without permission prompts; the whole tool is allowed.\n`,
  )
  expect(code).toBe(0)
})

test('an empty allowedTools allows no tool', async () => {
  await using stage = await openStage({ script: [DONE], ...writes({ allowedTools: [] }, once) })
  const result = await stage.runJson('--chain', 'w')
  expect(stage.asks[0]?.tools).toEqual([])
  expect(outcomes(result)).toEqual([{ kind: 'marker' }])
})

test('allowedTools may name a tool of an MCP server', async () => {
  const files = {
    'bell.mjs': MCP_SERVER,
    'mcp.json': '{ "mcpServers": { "bell": { "command": "./bell.mjs" } } }',
  }
  const agent = { mcpConfig: 'mcp.json', allowedTools: ['Read', 'mcp__bell__ring'] }
  const script = [{ tool: { name: 'mcp__bell__ring', input: {} } }, DONE]
  await using stage = await openStage({ script, files, env: ALL_TOOLS, ...writes(agent, once) })
  await stage.runJson('--chain', 'w')
  expect(stage.asks[0]?.tools.toSorted()).toEqual(['Read', 'mcp__bell__ring'])
  expect(stage.asks[1]?.results).toEqual(['It rang.'])
})

test.each(['of the agent', 'of the user'])(
  'allowedTools excludes an MCP server %s that it does not name',
  async (whose) => {
    const files = {
      'bell.mjs': MCP_SERVER,
      'mcp.json': '{ "mcpServers": { "bell": { "command": "./bell.mjs" } } }',
    }
    const server = whose === 'of the agent' ? { mcpConfig: 'mcp.json' } : {}
    const agent = { ...server, allowedTools: ['Read'] }
    const script = [{ tool: { name: 'mcp__bell__ring', input: {} } }, DONE]
    await using stage = await openStage({ script, files, env: ALL_TOOLS, ...writes(agent, once) })
    if (whose === 'of the user') copyFileSync(join(stage.cwd, 'mcp.json'), stage.userState)
    await stage.runJson('--chain', 'w')
    expect(stage.asks[0]?.tools).toEqual(['Read'])
    expect(stage.asks[1]?.results[0]).toContain('No such tool available')
  },
)

test('a permission mode replaces skipped permissions and is enforced', async () => {
  const script = [{ tool: bash('touch forbidden') }, DONE]
  const agent = { permissionMode: 'default', allowedTools: ['Bash(git:*)', 'Read'] }
  await using stage = await openStage({ script, ...writes(agent, once) })
  const result = await stage.runJson('--chain', 'w')
  const [argv] = commands(result)
  expect(valueOf(argv, '--permission-mode')).toBe('default')
  expect(argv).not.toContain('--dangerously-skip-permissions')
  expect(existsSync(join(stage.cwd, 'forbidden'))).toBe(false)
  expect([result.code, result.stderr, eventsOf(result, 'warning')]).toEqual([0, '', []])
})

test('args of the step and after -- are passed to claude before the prompt', async () => {
  const step = { ...once, args: ['--session-id', '${ID}'] }
  await using stage = await openStage({ script: [DONE], ...writes({}, step) })
  const id = '11111111-2222-4333-8444-555555555555'
  const result = await stage.runJson('--chain', 'w', `ID=${id}`, '--', '--disallowedTools', 'Bash')
  const [argv] = commands(result)
  expect(argv?.slice(-6)).toEqual(['--disallowedTools', 'Bash', '--session-id', id, '--', 'Write.'])
  expect(eventsOf(result, 'iteration_ended')[0]?.usage?.session).toBe(id)
  expect(stage.asks[0]?.tools).not.toContain('Bash')
})

test('a full model id is passed on unchanged, known or not', async () => {
  const model = 'house-model-9'
  await using stage = await openStage({ script: [DONE], ...writes({ model }, once) })
  const result = await stage.runJson('--chain', 'w')
  expect(stage.asks[0]?.model).toBe(model)
  expect(result.code).toBe(0)
})

test('by default an agent uses sonnet with 100 turns', async () => {
  await using stage = await openStage({ script: [DONE], ...writes({}, once) })
  const result = await stage.runJson('--chain', 'w')
  expect(valueOf(commands(result)[0], '--max-turns')).toBe('100')
  expect(stage.asks[0]?.model).toContain('sonnet')
})

test('texts over 100 KiB are passed by stdin and file, and no file remains', async () => {
  const long = `${'A long line.\n'.repeat(12_000)}The end.`
  const files = { 'long.md': long }
  const agent = { systemPromptText: '', systemPrompt: 'long.md' }
  await using stage = await openStage({ script: [DONE], files, ...writes(agent, once) })
  const result = await stage.runJson('--chain', 'w', '--prompt-file', 'long.md')
  expect(outcomes(result)).toEqual([{ kind: 'marker' }])
  expect(stage.asks[0]?.system).toContain(MODE_AWARENESS_PREFIX + long)
  expect(stage.asks[0]?.prompt).toContain(long)
  const [argv = []] = commands(result)
  expect(argv).toContain('--append-system-prompt-file')
  expect(argv.join(' ').length).toBeLessThan(1000)
  const left = readdirSync(stage.temp).filter((name) => name.startsWith('forkhestra'))
  expect(left).toEqual([])
})
