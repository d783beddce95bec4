import { expect, test } from 'bun:test'
import { builtInTools, claudeEngine } from './engine.ts'
import type { ClaudeAgent, FileRead } from '../engine.ts'

const AGENT: ClaudeAgent = {
  engine: 'claude',
  name: 'writer',
  program: '/bin/claude',
  systemPrompt: [{ text: 'You write.' }],
  model: 'sonnet',
  maxTurns: 100,
}
const TURN = { cwd: '/p', args: [], prompt: 'Go', systemPrompt: 'SYS', loop: true }

test('claude is called in print mode with JSON output', () => {
  const { argv, stdin, files, isStructured } = claudeEngine.prepare(AGENT, TURN)
  expect(argv).toEqual([
    '/bin/claude',
    '--print',
    '--dangerously-skip-permissions',
    '--append-system-prompt',
    'SYS',
    '--max-turns',
    '100',
    '--model',
    'sonnet',
    '--output-format',
    'stream-json',
    '--verbose',
    '--',
    'Go',
  ])
  expect([stdin, files, isStructured]).toEqual([undefined, undefined, true])
})

test('all settings of an agent are passed on', () => {
  const agent: ClaudeAgent = {
    ...AGENT,
    mcpConfig: '/p/mcp.json',
    settings: '/p/settings.json',
    allowedTools: ['Read', 'Bash(git:*)', 'mcp__x__push'],
    disallowedTools: ['Edit', 'Write'],
    permissionMode: 'acceptEdits',
  }
  const { argv } = claudeEngine.prepare(agent, { ...TURN, args: ['--add-dir', '/x'], prompt: '-p' })
  expect(argv.slice(2, 4)).toEqual(['--permission-mode', 'acceptEdits'])
  const valueOf = (option: string) => argv[argv.indexOf(option) + 1]
  expect(valueOf('--mcp-config')).toBe('/p/mcp.json')
  expect(valueOf('--settings')).toBe('/p/settings.json')
  expect(valueOf('--allowedTools')).toBe('Read,Bash(git:*),mcp__x__push')
  expect(valueOf('--tools')).toBe('Read,Bash')
  expect(valueOf('--disallowedTools')).toBe('Edit,Write')
  expect(argv).toContain('--strict-mcp-config')
  expect(argv.slice(-4)).toEqual(['--add-dir', '/x', '--', '-p'])
})

test('a whitelist without MCP tools excludes all MCP servers', () => {
  const { argv } = claudeEngine.prepare({ ...AGENT, allowedTools: ['Read'] }, TURN)
  expect(argv[argv.indexOf('--disallowedTools') + 1]).toBe('mcp__*')
  expect(argv).not.toContain('--strict-mcp-config')
})

const QUEUE = { program: '/bin/forkhestra', env: { FORKHESTRA_AGENT_NAME: 'main' } }

/** The values after an option, up to the next option. */
function valuesOf(argv: readonly string[], option: string): string[] | undefined {
  const at = argv.indexOf(option)
  if (at === -1) return undefined
  const rest = argv.slice(at + 1)
  return rest.slice(
    0,
    rest.findIndex((word) => word.startsWith('--')),
  )
}

const OURS = JSON.stringify({
  mcpServers: {
    forkhestra: {
      type: 'stdio',
      command: '/bin/forkhestra',
      args: ['mcp'],
      env: { FORKHESTRA_AGENT_NAME: 'main' },
      alwaysLoad: true,
    },
  },
})

const own = { mcpConfig: '/p/mcp.json' }
const [reads, asks] = [{ allowedTools: ['Read'] }, { permissionMode: 'acceptEdits' }]

test.each<[object, string[], string | undefined, string | undefined, boolean]>([
  [{}, [OURS], undefined, undefined, false],
  [own, ['/p/mcp.json', OURS], undefined, undefined, false],
  [asks, [OURS], 'mcp__forkhestra', undefined, false],
  [reads, [OURS], 'Read,mcp__forkhestra', undefined, true],
  // None of its own servers is allowed.
  [{ ...own, ...reads }, [OURS], 'Read,mcp__forkhestra', undefined, true],
  [
    { ...own, allowedTools: ['Read', 'mcp__x'] },
    ['/p/mcp.json', OURS],
    'Read,mcp__x,mcp__forkhestra',
    undefined,
    true,
  ],
  [{ disallowedTools: ['mcp__forkhestra__run'] }, [OURS], undefined, 'mcp__forkhestra__run', false],
])(
  'the queue and inbox tools are added to what %p allows',
  (more, servers, allowed, shut, isStrict) => {
    const { argv } = claudeEngine.prepare({ ...AGENT, ...more }, { ...TURN, queue: QUEUE })
    expect(valuesOf(argv, '--mcp-config')).toEqual(servers)
    expect(valuesOf(argv, '--allowedTools')?.[0]).toBe(allowed)
    expect(valuesOf(argv, '--disallowedTools')?.[0]).toBe(shut)
    expect(argv.includes('--strict-mcp-config')).toBe(isStrict)
  },
)

test('each built-in tool is named once', () => {
  expect(builtInTools(['Bash(git:*)', 'Bash(npm test)', 'Read', 'mcp__a__b'])).toEqual([
    'Bash',
    'Read',
  ])
})

test('long texts are not passed as arguments', () => {
  const long = 'x'.repeat(100 * 1024 + 1)
  const { argv, stdin, files } = claudeEngine.prepare(AGENT, {
    ...TURN,
    prompt: long,
    systemPrompt: long,
  })
  expect(stdin).toBe(long)
  expect(argv).not.toContain('--')
  expect(files).toEqual([{ at: argv.indexOf('--append-system-prompt-file') + 1, text: long }])
  expect(Math.max(...argv.map((word) => word.length))).toBeLessThan(100)
})

test.each([
  [5, '5.00'],
  [0.1 + 0.2, '0.30'],
  [1.001, '1.01'],
  [0.000_01, '0.01'],
  [0, '0.01'],
  [-1, '0.01'],
])('the budget %p is passed on in cents, rounded up', (maxCostUsd, words) => {
  const { argv } = claudeEngine.prepare(AGENT, { ...TURN, maxCostUsd })
  expect(argv[argv.indexOf('--max-budget-usd') + 1]).toBe(words)
})

test("the user's own settings are excluded only on request", () => {
  const sources = (userSettings?: boolean) => {
    const agent = userSettings === undefined ? AGENT : { ...AGENT, userSettings }
    const { argv } = claudeEngine.prepare(agent, TURN)
    const at = argv.indexOf('--setting-sources')
    return at === -1 ? undefined : argv[at + 1]
  }
  expect([sources(), sources(true), sources(false)]).toEqual([
    undefined,
    undefined,
    'project,local',
  ])
})

test('failure messages on stderr are read too', () => {
  const decoder = claudeEngine.prepare(AGENT, { ...TURN, loop: false }).decode('err')
  decoder?.push(Buffer.from('Credit balance is too low\n'))
  expect(decoder?.end().map(({ type }) => type)).toEqual(['printed_failure'])
})

const READS: readonly FileRead[] = [
  { path: 'a.md', ok: true, text: 'alpha', mtimeMs: 0 },
  { path: 'gone.md', ok: false, error: 'File does not exist: gone.md' },
]

test('files that were read become a new session to resume', () => {
  const long = 'x'.repeat(100 * 1024 + 1)
  const turn = { ...TURN, systemPrompt: long, reads: READS }
  const { argv, files, stdin } = claudeEngine.prepare(AGENT, turn)
  const [session, systemPrompt] = files!
  expect(argv[session!.at - 1]).toBe('--resume')
  expect(argv[systemPrompt!.at - 1]).toBe('--append-system-prompt-file')
  expect(argv.slice(-2)).toEqual(['--', 'Go'])
  expect([stdin, systemPrompt?.text]).toEqual([undefined, long])
  const id = session!.name!.replace('.jsonl', '')
  expect(JSON.parse(session!.text.split('\n')[0]!)).toMatchObject({ sessionId: id, cwd: '/p' })
  expect(claudeEngine.prepare(AGENT, turn).files?.[0]?.name).not.toBe(session!.name!)
})

test('without files no session is resumed', () => {
  const launch = claudeEngine.prepare(AGENT, { ...TURN, reads: [] })
  expect(launch.argv).toEqual(claudeEngine.prepare(AGENT, TURN).argv)
  expect(launch.files).toBeUndefined()
  expect(launch.fallback?.()).toBeUndefined()
})

test.each([
  '--resume x',
  '--resume=x',
  '-r',
  '-c',
  '--continue',
  '--session-id x',
  '--fork-session',
])('with %s the files are part of the prompt', (words) => {
  const args = words.split(' ')
  const { argv, files } = claudeEngine.prepare(AGENT, { ...TURN, args, reads: READS })
  expect(argv.at(-1)).toContain('<file path="a.md"')
  expect(argv.at(-1)).toEndWith('\n\nGo')
  expect(files).toBeUndefined()
})

test.each([
  ['Error: --resume requires a valid session ID when used with --print\nUsage: …\n', true],
  ['Warning: x\nNo conversation found with session ID: /t/x.jsonl\n', true],
  ['Error: Reached max turns\n', false],
  ['I said: No conversation found\n', false],
])('a refused session falls back to files in the prompt (%j)', (stderr, isRefused) => {
  const launch = claudeEngine.prepare(AGENT, { ...TURN, reads: READS })
  const decoder = launch.decode('err')!
  expect(launch.fallback?.()).toBeUndefined()
  launch.decode('out')?.push(Buffer.from('{"type":"system","subtype":"init"}\n'))
  for (const byte of Buffer.from(stderr)) decoder.push(Buffer.from([byte]))
  decoder.end()
  const instead = launch.fallback?.()
  expect(instead !== undefined).toBe(isRefused)
  if (isRefused) expect(instead?.argv).not.toContain('--resume')
  if (isRefused) expect(instead?.argv.at(-1)).toContain('<file path="a.md"')
})

test('output of the model is not a refusal', () => {
  const launch = claudeEngine.prepare(AGENT, { ...TURN, reads: READS })
  launch.decode('out')?.push(Buffer.from('No conversation found\n'))
  expect(launch.fallback?.()).toBeUndefined()
})
