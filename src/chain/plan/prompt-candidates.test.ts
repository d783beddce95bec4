import { expect, test } from 'bun:test'
import { UserError } from '../../base/errors.ts'
import { renderTemplate } from '../parse/template.ts'
import type { PromptCandidate } from '../prompts/choose.ts'
import type { Facts } from './facts.ts'
import { builtInVariables, NO_STEPS } from './plan.ts'
import { promptCandidates } from './prompt-candidates.ts'
import type { InlineOrFile } from './request.ts'
import { Variables } from './variables.ts'

const FILES: Record<string, string> = {
  '/base/full.md': 'full',
  '/base/blank.md': ' \n',
  '/base/2.md': 'two',
  '/cwd/typed.md': 'typed',
  '/agents/default.md': 'default',
}

const FACTS: Facts = {
  programAt: () => ({ kind: 'missing' }),
  programOnPath: () => ({ kind: 'missing' }),
  searchPath: [],
  mustAsk: false,
  isOwnProgram: () => false,
  isInRepository: () => false,
  isBareRepository: () => false,
  hasVariable: () => false,
  fileExists: () => true,
  readPrompt(path, base) {
    const text = FILES[`${base}/${path}`]
    if (text === undefined) throw new UserError(`Prompt file not found: ${path}`)
    return text
  },
  agentFiles: () => ({ agents: new Map(), problems: [] }),
  namesIn: () => [],
  userAgentFiles: () => ({ agents: new Map(), problems: [] }),
}

interface Levels {
  readonly cli?: InlineOrFile
  readonly step?: { prompt?: string; promptFile?: string }
  readonly chain?: { prompt?: string; promptFile?: string }
  readonly agent?: { defaultPrompt?: string; defaultPromptFile?: string }
}

function plan({ cli = {}, step = {}, chain = {}, agent = {} }: Levels, given = {}) {
  const variables = new Variables(new Map(Object.entries<string>(given)))
  const steps = [{ agent: 'x', ...step }]
  const candidates = promptCandidates(
    {
      name: 'build',
      cwd: '/cwd',
      base: '/base',
      agentBase: '/agents',
      chain: { ...chain, steps },
      agents: { x: agent },
      cliPrompt: cli,
    },
    steps[0]!,
    builtInVariables({ run: 'r1', root: NO_STEPS }, { number: 2, loop: 3 }, 1),
    variables,
    FACTS,
  )
  const missing = variables.problems.map(({ message }) =>
    message.slice(0, -'but not provided'.length),
  )
  return { found: candidates.map(render), missing, warnings: variables.warnings() }
}

function render(candidate: PromptCandidate): string {
  if ('text' in candidate) return `${candidate.level}: ${renderTemplate(candidate.text)}`
  return `${candidate.level}: file ${candidate.base}/${renderTemplate(candidate.file)}`
}

const ALL: Levels = {
  cli: { prompt: 'C', promptFile: 'typed.md' },
  step: { prompt: 'S', promptFile: 'full.md' },
  chain: { prompt: 'H', promptFile: 'full.md' },
  agent: { defaultPrompt: 'A', defaultPromptFile: 'full.md' },
}

test.each<[string, Levels, string[]]>([
  ['nothing', {}, []],
  ['everything', ALL, ['command line: C']],
  ['all but the command line', { ...ALL, cli: {} }, ['step: S']],
  ['chain and agent', { chain: ALL.chain!, agent: ALL.agent! }, ['chain: H']],
  ['the agent alone', { agent: ALL.agent! }, ['agent default: A']],
  [
    'a file above a text, which may become blank later',
    { step: { promptFile: 'full.md' }, chain: { prompt: 'H' } },
    ['step: file /base/full.md', 'chain: H'],
  ],
  ['a blank text', { cli: { prompt: ' ' }, agent: { defaultPrompt: 'A' } }, ['agent default: A']],
  [
    'a blank text over its own file',
    { step: { prompt: '', promptFile: 'full.md' } },
    ['step: file /base/full.md'],
  ],
  [
    'a file from the command line, relative to where it was typed',
    { cli: { promptFile: 'typed.md' } },
    ['command line: file /cwd/typed.md'],
  ],
  [
    'a file of the agent, relative to where agents are configured',
    { agent: { defaultPromptFile: 'default.md' } },
    ['agent default: file /agents/default.md'],
  ],
  [
    'a path with a built-in variable, left open',
    { step: { promptFile: '${STEP}.md' } },
    ['step: file /base/${STEP}.md'],
  ],
  ['an empty path', { step: { promptFile: '' }, chain: { prompt: 'H' } }, ['chain: H']],
])('%s gives these candidates', (_, levels, found) => {
  expect(plan(levels).found).toEqual(found)
})

test('a missing file is refused, unless a text overrides it', () => {
  const chain = { promptFile: 'gone.md' }
  expect(() => plan({ chain })).toThrow('Prompt file not found: gone.md')
  expect(plan({ chain, step: { prompt: 'S' } }).found).toEqual(['step: S'])
})

test.each<[string, Levels, string[]]>([
  ['a step', { step: { prompt: '${V}' } }, ["Variable 'V' referenced in 'x' "]],
  ['a chain', { chain: { prompt: '${V}' } }, ["Variable 'V' referenced in chain 'build' "]],
  ['a path', { chain: { promptFile: '${V}.md' } }, ["Variable 'V' referenced in chain 'build' "]],
  ['an agent default', { agent: { defaultPrompt: '${V}' } }, ["Variable 'V' referenced in 'x' "]],
  [
    'an agent default below a blank file',
    { step: { promptFile: 'blank.md' }, agent: { defaultPrompt: '${V}' } },
    ["Variable 'V' referenced in 'x' "],
  ],
  ['a chain below a text', { step: { prompt: 'S' }, chain: { prompt: '${V}' } }, []],
  ['a chain below a file', { step: { promptFile: 'full.md' }, chain: { prompt: '${V}' } }, []],
  ['a step below the command line', { cli: { prompt: 'C' }, step: { prompt: '${V}' } }, []],
  ['the command line, which is never filled', { cli: { prompt: '${V}' } }, []],
  [
    'a chain below a text that lacks another one',
    { step: { prompt: 'Do ${W}' }, chain: { prompt: '${V}' } },
    ["Variable 'W' referenced in 'x' "],
  ],
])('a variable in %s is required as expected', (_, levels, missing) => {
  expect(plan(levels).missing).toEqual(missing)
})

test('a prompt that is blank after filling in values falls back to the next level', () => {
  const levels: Levels = { step: { prompt: '${A}' }, chain: { prompt: 'H ${A}' } }
  expect(plan(levels, { A: ' ' }).found).toEqual(['chain: H  '])
  expect(plan(levels, { A: 'a' }).found).toEqual(['step: a'])
})

test('a variable that only an overridden prompt references is not reported as unused', () => {
  const levels: Levels = { step: { prompt: 'S' }, chain: { prompt: '${A}' } }
  expect(plan(levels, { A: '1' }).warnings).toEqual([])
})
