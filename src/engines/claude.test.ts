import { expect, test } from 'bun:test'
import { builtInTools, claudeEngine } from './claude.ts'
import type { ClaudeAgent } from './engine.ts'

const AGENT: ClaudeAgent = {
  engine: 'claude',
  name: 'writer',
  program: '/bin/claude',
  systemPrompt: [{ text: 'You write.' }],
  model: 'sonnet',
  maxTurns: 100,
}
const TURN = { args: [], prompt: 'Go', systemPrompt: 'SYS', loop: true }

test('claude is called in print mode, and speaks JSON', () => {
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

test('everything that an agent may say is handed on', () => {
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
  const behind = (option: string) => argv[argv.indexOf(option) + 1]
  expect(behind('--mcp-config')).toBe('/p/mcp.json')
  expect(behind('--settings')).toBe('/p/settings.json')
  expect(behind('--allowedTools')).toBe('Read,Bash(git:*),mcp__x__push')
  expect(behind('--tools')).toBe('Read,Bash')
  expect(behind('--disallowedTools')).toBe('Edit,Write')
  expect(argv).toContain('--strict-mcp-config')
  expect(argv.slice(-4)).toEqual(['--add-dir', '/x', '--', '-p'])
})

test('a whitelist without tools of MCP servers shuts all of those out', () => {
  const { argv } = claudeEngine.prepare({ ...AGENT, allowedTools: ['Read'] }, TURN)
  expect(argv[argv.indexOf('--disallowedTools') + 1]).toBe('mcp__*')
  expect(argv).not.toContain('--strict-mcp-config')
})

test('the names of built-in tools are each given once', () => {
  expect(builtInTools(['Bash(git:*)', 'Bash(npm test)', 'Read', 'mcp__a__b'])).toEqual([
    'Bash',
    'Read',
  ])
})

test('long texts do not go onto the command line', () => {
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
])('what it may spend at most (%p) is handed on in cents, rounded up', (maxCostUsd, words) => {
  const { argv } = claudeEngine.prepare(AGENT, { ...TURN, maxCostUsd })
  expect(argv[argv.indexOf('--max-budget-usd') + 1]).toBe(words)
})

test("the user's own settings are shut out only where the agent says so", () => {
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

test('last words on stderr are read, too', () => {
  const decoder = claudeEngine.prepare(AGENT, { ...TURN, loop: false }).decode('err')
  decoder?.push(Buffer.from('Credit balance is too low\n'))
  expect(decoder?.end().map(({ type }) => type)).toEqual(['last_words'])
})
