import { describe, expect, test } from 'bun:test'
import { UserError } from '../../base/errors.ts'
import type { Facts, ProgramFact } from './facts.ts'
import {
  isKnownAgent,
  missingAgentFiles,
  resolveAgent,
  type Agents,
  type Known,
} from './resolve-agent.ts'

const program = (path: string): ProgramFact => ({ kind: 'program', path })

const AT: Record<string, ProgramFact> = {
  '/project/agents/a.sh': { kind: 'program', path: '/project/agents/a.sh', interpreter: '/bin/sh' },
  '/opt/b': program('/opt/b'),
  '/project/locked': {
    kind: 'unusable',
    path: '/project/locked',
    problem: 'is not executable',
    hint: 'Run: chmod +x /project/locked',
  },
}
const ON_PATH: Record<string, ProgramFact> = {
  worker: program('/usr/bin/worker'),
  'own:builder': program('/usr/bin/own:builder'),
  claude: program('/usr/bin/claude'),
  planner: program('/usr/bin/planner'),
  broken: { kind: 'unusable', path: '/usr/bin/broken', problem: 'is not a regular file' },
}

const FACTS: Facts = {
  programAt: (path) => AT[path] ?? { kind: 'missing' },
  programOnPath: (name) =>
    (Object.hasOwn(ON_PATH, name) ? ON_PATH[name] : undefined) ?? { kind: 'missing' },
  searchPath: ['/usr/bin', '/bin'],
  mustAsk: false,
  isOwnProgram: () => false,
  isInRepository: () => false,
  isBareRepository: () => false,
  hasVariable: () => false,
  fileExists: (path) => path === '/project/system.md',
  readPrompt: () => '{}',
  agentFiles: () => ({ agents: new Map(), problems: [] }),
  namesIn: (folder) => (folder === '/project' ? ['goner', 'builder', 'README'] : []),
  userAgentFiles: () => ({ agents: new Map(), problems: [] }),
}

const KNOWN: Known = {
  cwd: '/shop',
  agents: {},
  base: '/project',
  agentBase: '/project',
  chainNames: ['build'],
}

const resolve = (name: string, agents: Agents = {}, facts = FACTS) =>
  resolveAgent(name, { ...KNOWN, agents }, facts)

function refusal(part: () => unknown): UserError {
  try {
    part()
  } catch (error) {
    if (error instanceof UserError) return error
    throw error
  }
  throw new Error('was not refused')
}

test.each([
  ['worker', { program: '/usr/bin/worker' }],
  ['own:builder', { program: '/usr/bin/own:builder' }],
  ['/opt/b', { program: '/opt/b' }],
  ['agents/a.sh', { program: '/project/agents/a.sh', interpreter: '/bin/sh' }],
  ['./agents/a.sh', { program: '/project/agents/a.sh', interpreter: '/bin/sh' }],
  ['../project/agents/a.sh', { program: '/project/agents/a.sh', interpreter: '/bin/sh' }],
])('%s is a program', (name, found) => {
  expect(resolve(name)).toEqual({ engine: 'binary', name, ...found })
})

test('an entry of the configuration without a system prompt only gives defaults', () => {
  const agents = { worker: { defaultPrompt: 'Work', systemPrompt: '' } }
  expect(resolve('worker', agents)).toMatchObject({ program: '/usr/bin/worker' })
})

describe('an agent that is not found', () => {
  test('is reported with the searched places and a suggestion', () => {
    const { message, hint } = refusal(() => resolve('wroker', { worker: {} }))
    expect(message).toBe("Agent not found: wroker (did you mean 'worker'?)")
    expect(hint).toBe(
      `There is no program named 'wroker' on PATH, and no such agent in the configuration or in .claude/agents.
Install it, or give its path, for example ./wroker`,
    )
  })

  test.each([
    ['build', 'There is a chain with that name: forkhestra --chain build'],
    ['wroker:3', 'For a loop write "agent": "wroker", "iterations": 3'],
    ['wroker --fast', 'Put arguments in "args", not in the name.'],
  ])('%j gets a hint about what was meant', (name, hint) => {
    expect(refusal(() => resolve(name)).hint).toEndWith(`\n${hint}`)
  })

  test('is reported with an empty PATH', () => {
    const facts = { ...FACTS, searchPath: [] }
    expect(refusal(() => resolve('xyz', {}, facts)).hint).toEndWith('\nPATH is empty.')
  })

  test('is reported with the folder of a relative path', () => {
    const { message, hint } = refusal(() => resolve('./gone'))
    expect(message).toBe('Agent not found: ./gone')
    expect(hint).toBe('There is no such file in /project.')
    expect(refusal(() => resolve('./gone:3')).hint).toEndWith(
      '\nFor a loop write "agent": "./gone", "iterations": 3',
    )
  })

  test.each(['constructor', '__proto__', 'toString'])(
    'is not taken from any object: %s',
    (name) => {
      expect(refusal(() => resolve(name)).message).toBe(`Agent not found: ${name}`)
    },
  )
})

test('a program that cannot start is refused with why and what to do', () => {
  const locked = refusal(() => resolve('./locked'))
  expect(locked.message).toBe("Agent './locked' (/project/locked) is not executable.")
  expect(locked.hint).toBe('Run: chmod +x /project/locked')
  expect(refusal(() => resolve('broken')).message).toBe(
    "Agent 'broken' (/usr/bin/broken) is not a regular file.",
  )
})

test('an agent with a system prompt is not mistaken for a program of that name', () => {
  const agents = {
    worker: { systemPromptText: 'You work.', allowedTools: ['Read'], settings: 'system.md' },
  }
  expect(resolve('worker', agents)).toEqual({
    engine: 'claude',
    name: 'worker',
    program: '/usr/bin/claude',
    systemPrompt: [{ text: 'You work.' }],
    model: 'sonnet',
    maxTurns: 100,
    allowedTools: ['Read'],
    settings: '/project/system.md',
  })
  expect(resolve('worker', { worker: { systemPrompt: 'system.md' } })).toMatchObject({
    systemPrompt: [{ file: '/project/system.md' }],
  })
})

test('a built-in agent wins over a program, and a configuration overrides its fields', () => {
  expect(resolve('planner')).toMatchObject({
    engine: 'claude',
    model: 'sonnet',
    maxTurns: 50,
    allowedTools: ['Read', 'Grep', 'Glob', 'Bash'],
    systemPrompt: [{ file: '/shop/forge/orch/prompts/planner.md', isOptional: true }, {}],
  })
  const laidOver = resolve('fk:builder', { 'fk:builder': { model: 'opus', defaultPrompt: 'x' } })
  expect(laidOver).toMatchObject({ model: 'opus', maxTurns: 100, finishesTasks: true })
  const own = resolve('planner', { planner: { systemPromptText: 'Mine.' } })
  expect(own).toMatchObject({ systemPrompt: [{ text: 'Mine.' }], maxTurns: 100 })
  expect(own).not.toHaveProperty('allowedTools')
})

test('a missing claude, or root without a sandbox, is refused before the run', () => {
  const facts = { ...FACTS, programOnPath: () => ({ kind: 'missing' as const }) }
  const missing = refusal(() => resolve('planner', {}, facts))
  expect(missing.message).toContain("there is no 'claude'")
  expect(missing.hint).toContain('forkhestra doctor')
  const root = { ...FACTS, mustAsk: true }
  expect(refusal(() => resolve('planner', {}, root)).hint).toContain('IS_SANDBOX=1')
  const both = refusal(() => resolve('planner', {}, { ...facts, mustAsk: true }))
  expect(both.problems.map(({ message }) => message)).toEqual([
    refusal(() => resolve('planner', {}, root)).message,
    missing.message,
  ])
  const asking = { planner: { permissionMode: 'acceptEdits' as const } }
  expect(resolve('planner', asking, root)).toMatchObject({ permissionMode: 'acceptEdits' })
})

test('a bundled agent is used if PATH has no other program of its name', () => {
  const agents = { 'forge-task-worker': { model: 'opus' } }
  for (const name of ['forge-task-worker', 'task-worker']) {
    expect(resolve(name, agents)).toMatchObject({ engine: 'claude', name, model: 'opus' })
  }
  const onPath = (path: string) => (name: string) =>
    name === 'task-worker' ? program(path) : FACTS.programOnPath(name)
  const isOwnProgram = (path: string) => path.startsWith('/own/')
  const ours = { ...FACTS, isOwnProgram, programOnPath: onPath('/own/task-worker') }
  expect(resolve('task-worker', {}, ours)).toMatchObject({ engine: 'claude' })
  const theirs = { ...ours, programOnPath: onPath('/usr/bin/task-worker') }
  expect(resolve('task-worker', {}, theirs)).toMatchObject({ engine: 'binary' })
  expect(refusal(() => resolve('forge-other')).message).toContain('not found')
})

test.each([
  [{ systemPrompt: 'gone.md' }, 'systemPrompt', 'gone.md'],
  [{ systemPrompt: 'system.md', mcpConfig: 'mcp.json' }, 'mcpConfig', 'mcp.json'],
  [{ systemPromptText: 'x', settings: '/s.json' }, 'settings', '/s.json'],
  [{ mcpConfig: 'mcp.json' }, 'mcpConfig', 'mcp.json'],
])('an agent with %j is refused because of its file', (config, field, path) => {
  const { message, hint } = refusal(() => resolve('fk:planner', { 'fk:planner': config }))
  expect(message).toBe(`Agent 'fk:planner' references ${field} '${path}' which does not exist`)
  expect(hint).toEndWith('Looked in: /project')
})

test('a prompt in the place of its file is recognised', () => {
  const config = { systemPrompt: 'You are a poet.' }
  const { hint } = refusal(() => resolve('poet', { poet: config }))
  expect(hint).toBe('For a prompt as text use "systemPromptText".\nLooked in: /project')
})

test('the files of an agent are relative to the configuration of agents', () => {
  const known = { ...KNOWN, agents: { worker: { settings: 's.json' } }, agentBase: '/user' }
  const facts = { ...FACTS, fileExists: (path: string) => path === '/user/s.json' }
  expect(resolveAgent('worker', known, facts)).toMatchObject({ program: '/usr/bin/worker' })
  expect(refusal(() => resolveAgent('worker', known, FACTS)).hint).toBe('Looked in: /user')
})

test.each([
  [{}],
  [{ systemPrompt: 'system.md' }],
  [{ systemPromptText: 'wins', systemPrompt: 'gone.md' }],
])('the files of %j are accepted', (config) => {
  expect(missingAgentFiles('x', config, '/project', FACTS)).toEqual([])
})

test('a word with colons is an agent if it is configured or a program', () => {
  const known = { ...KNOWN, agents: { 'tasks:manager': {} } }
  expect(isKnownAgent('tasks:manager', known, FACTS)).toBe(true)
  expect(isKnownAgent('own:builder', known, FACTS)).toBe(true)
  expect(isKnownAgent('fk:planner', known, FACTS)).toBe(true)
  expect(isKnownAgent('own:planner', known, FACTS)).toBe(false)
  expect(isKnownAgent('constructor', known, FACTS)).toBe(false)
})
