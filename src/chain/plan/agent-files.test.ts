import { expect, test } from 'bun:test'
import type { AgentFile } from '../parse/agent-file.ts'
import type { AgentFileProblem, AgentFiles, Facts } from './facts.ts'
import { fileWarnings } from './warnings.ts'
import { isBuiltIn, isKnownAgent, resolveAgent, type Agents, type Known } from './resolve-agent.ts'

const file = (name: string, folder: string, more = {}): AgentFile => ({
  name,
  path: `${folder}/${name}.md`,
  line: 2,
  config: { systemPromptText: `You are ${name} of ${folder}.`, ...more },
})

function folderOf(
  files: readonly AgentFile[],
  problems: readonly AgentFileProblem[] = [],
): AgentFiles {
  return { agents: new Map(files.map((each) => [each.name, each])), problems }
}

const PROJECT = folderOf(
  [
    file('reviewer', 'project', { allowedTools: ['Read'] }),
    file('tester', 'project', { model: 'haiku' }),
    file('git', 'project'),
    file('team:lead', 'project'),
  ],
  [
    { name: 'builder', message: 'builder.md is broken.', hint: 'Fix it.' },
    { name: 'README', message: 'README.md is not an agent.', isHarmless: true },
  ],
)
const USER = folderOf(
  [file('tester', 'user'), file('planner', 'user'), file('ls', 'user'), file('poet', 'user')],
  [{ name: 'painter', message: 'painter.md is broken.' }],
)

const FACTS: Facts = {
  programAt: () => ({ kind: 'missing' }),
  programOnPath: (name) =>
    ['claude', 'git', 'ls'].includes(name)
      ? { kind: 'program', path: `/bin/${name}` }
      : { kind: 'missing' },
  searchPath: [],
  mustAsk: false,
  isOwnProgram: () => false,
  isInRepository: () => false,
  isBareRepository: () => false,
  hasVariable: () => false,
  fileExists: () => false,
  readPrompt: () => '',
  agentFiles: (cwd) => (cwd === '/shop' ? PROJECT : folderOf([])),
  namesIn: () => [],
  userAgentFiles: () => USER,
}

const KNOWN: Known = { cwd: '/shop', agents: {}, base: '/base', agentBase: '/base' }

const resolve = (name: string, agents: Agents = {}, more: Partial<Known> = {}) =>
  resolveAgent(name, { ...KNOWN, agents, ...more }, FACTS)

test('a file of the project is an agent with its own prompt, tools and model', () => {
  expect(resolve('reviewer')).toEqual({
    engine: 'claude',
    name: 'reviewer',
    program: '/bin/claude',
    systemPrompt: [{ text: 'You are reviewer of project.' }],
    model: 'sonnet',
    inheritsModel: true,
    maxTurns: 100,
    allowedTools: ['Read'],
    file: 'project/reviewer.md',
  })
  expect(resolve('tester')).toMatchObject({ model: 'haiku', file: 'project/tester.md' })
  expect(resolve('tester')).not.toHaveProperty('inheritsModel')
})

test('a configured system prompt replaces the file, other fields override it', () => {
  const own = resolve('reviewer', { reviewer: { systemPromptText: 'Mine.' } })
  expect(own).toMatchObject({ systemPrompt: [{ text: 'Mine.' }] })
  expect(own).not.toHaveProperty('file')
  const laidOver = { reviewer: { model: 'opus', maxTurns: 5, systemPromptText: '' } }
  expect(resolve('reviewer', laidOver)).toMatchObject({
    systemPrompt: [{ text: 'You are reviewer of project.' }],
    model: 'opus',
    maxTurns: 5,
    allowedTools: ['Read'],
  })
  expect(resolve('reviewer', laidOver)).not.toHaveProperty('inheritsModel')
})

test('a file of the project wins over built-in agents and programs, with a warning', () => {
  const [reviewer, git] = [resolve('reviewer'), resolve('git')]
  if (reviewer.engine !== 'claude' || git.engine !== 'claude') throw new Error('no file is meant')
  expect(fileWarnings(reviewer, FACTS)).toEqual([
    "'reviewer' is project/reviewer.md here, not the built-in agent.",
  ])
  expect(fileWarnings(git, FACTS)).toEqual([
    "'git' is project/git.md here, not /bin/git; to run the program, write its path.",
  ])
  expect(isBuiltIn('reviewer', KNOWN, FACTS)).toBe(false)
  expect(isBuiltIn('planner', KNOWN, FACTS)).toBe(true)
})

test('a built-in chain uses built-in agents, whatever files exist', () => {
  const own = resolve('reviewer', {}, { isBuiltInChain: true })
  expect(own).not.toHaveProperty('file')
  expect(own).toMatchObject({ maxTurns: 50 })
  expect(isBuiltIn('reviewer', { ...KNOWN, isBuiltInChain: true }, FACTS)).toBe(true)
})

test('a file of the user is used only if nothing else has its name', () => {
  expect(resolve('poet')).toMatchObject({ file: 'user/poet.md' })
  expect(resolve('tester')).toMatchObject({ file: 'project/tester.md' })
  expect(resolve('planner')).not.toHaveProperty('file')
  expect(resolve('ls')).toMatchObject({ engine: 'binary', program: '/bin/ls' })
})

test('a broken file is refused instead of falling back to another agent', () => {
  expect(() => resolve('builder')).toThrow('builder.md is broken.')
  expect(() => resolve('painter')).toThrow('painter.md is broken.')
  expect(() => resolve('builder', { builder: { systemPromptText: 'Mine.' } })).not.toThrow()
})

test('an unknown name is refused with the broken file and similar names', () => {
  expect(() => resolve('README')).toThrow('Agent not found: README')
  expect(() => resolve('testr')).toThrow("Agent not found: testr (did you mean 'tester'?)")
  try {
    resolve('README')
  } catch (error) {
    expect(error).toMatchObject({ hint: expect.stringContaining('README.md is not an agent.') })
  }
})

test('a path never means a file of that folder', () => {
  expect(() => resolve('./reviewer')).toThrow('Agent not found: ./reviewer')
})

test('a name with a colon is known', () => {
  expect(isKnownAgent('team:lead', KNOWN, FACTS)).toBe(true)
  expect(isKnownAgent('team:other', KNOWN, FACTS)).toBe(false)
})
