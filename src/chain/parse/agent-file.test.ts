import { expect, test } from 'bun:test'
import { UserError } from '../../base/errors.ts'
import { parseAgentFile } from './agent-file.ts'

const PATH = '.claude/agents/reviewer.md'
const BODY = 'You review.\n'

const parse = (frontmatter: string, body = BODY) =>
  parseAgentFile(`---\n${frontmatter}---\n${body}`, PATH, 'reviewer')

const configOf = (frontmatter: string) => parse(frontmatter)?.config

function refusal(frontmatter: string, body = BODY): string {
  try {
    parse(frontmatter, body)
  } catch (error) {
    if (error instanceof UserError) return error.message
    throw error
  }
  throw new Error('was not refused')
}

test('the text after the frontmatter is the system prompt', () => {
  const text = 'name: critic\ndescription: Reads code\ntools: Read, Grep\nmodel: opus\ncolor: red\n'
  expect(parse(text, '\n# Critic\n\n---\nYou review.\n')).toEqual({
    name: 'critic',
    description: 'Reads code',
    path: PATH,
    line: 2,
    config: {
      systemPromptText: '# Critic\n\n---\nYou review.',
      model: 'opus',
      allowedTools: ['Read', 'Grep'],
    },
  })
})

test('without fields the file name is the name, and all tools are allowed', () => {
  for (const frontmatter of ['', '# nothing\n', 'name:\ntools:\nmodel:\n', 'hooks: {}\n']) {
    expect(parse(frontmatter)).toMatchObject({ name: 'reviewer', line: expect.any(Number) })
    expect(configOf(frontmatter)).toEqual({ systemPromptText: 'You review.' })
  }
})

test('a byte order mark and Windows line ends change nothing', () => {
  const text = '\uFEFF---\r\nname: critic\r\ntools: Read\r\n---\r\nYou review.\r\n'
  expect(parseAgentFile(text, PATH, 'reviewer')).toMatchObject({
    name: 'critic',
    config: { systemPromptText: 'You review.', allowedTools: ['Read'] },
  })
})

test.each([
  ['tools: Read,Grep ,  Bash(git log:*)', ['Read', 'Grep', 'Bash(git log:*)']],
  ['tools: [Read, "Bash(a, b)"]', ['Read', 'Bash(a, b)']],
  ['tools:\n  - Read\n  - mcp__db__query', ['Read', 'mcp__db__query']],
  ['tools: Agent(worker, researcher), Read', ['Agent(worker, researcher)', 'Read']],
  ['tools: Read,', ['Read']],
  ['tools: []', []],
  ['tools: *', undefined],
  ['tools: "*"', undefined],
])('%j are these tools', (line, tools) => {
  expect(configOf(`${line}\n`)?.allowedTools).toEqual(tools)
})

test('many open brackets in the tools are parsed quickly', () => {
  expect(configOf(`tools: "${'('.repeat(60_000)}"\n`)?.allowedTools).toHaveLength(1)
})

test.each([
  ['inherit', undefined],
  ['default', undefined],
  ['haiku', 'haiku'],
  ['claude-opus-4-1-20250805', 'claude-opus-4-1-20250805'],
  ['sonnet[1m]', 'sonnet[1m]'],
])('the model %s', (word, model) => {
  expect(configOf(`model: ${word}\n`)?.model).toBe(model)
})

test('fields that restrict the agent are respected', () => {
  const text = 'disallowedTools: Write, Edit\npermissionMode: plan\nmaxTurns: 7\n'
  expect(configOf(text)).toEqual({
    systemPromptText: 'You review.',
    disallowedTools: ['Write', 'Edit'],
    permissionMode: 'plan',
    maxTurns: 7,
  })
})

test.each([
  'Use it when: something changed. Examples: <example>user: "Check #3"</example>',
  'Use it: now',
  '@security checks',
  String.raw`Many lines\n\nContext: in one`,
])('a description that needs quotes in YAML is accepted without them: %s', (description) => {
  const text = `name: critic\ndescription: ${description}\nmaxTurns: 3\nmodel: haiku\n`
  expect(parse(text)).toMatchObject({ name: 'critic', description, config: { maxTurns: 3 } })
})

test('a text without frontmatter is not an agent', () => {
  expect(parseAgentFile('# Notes\n\n---\nname: x\n---\n', PATH, 'reviewer')).toBeUndefined()
  expect(parseAgentFile('', PATH, 'reviewer')).toBeUndefined()
  expect(parseAgentFile('----\nname: x\n---\n', PATH, 'reviewer')).toBeUndefined()
})

test.each([
  ['name: a\ntools: [Read\nmodel: opus\n', ':3  The frontmatter is not valid YAML.'],
  ['name: a\ndescription: "open\n', ':3  The frontmatter is not valid YAML.'],
  ['- a\n', ':2  The frontmatter must consist of key: value lines.'],
  ['just words\n', ':2  The frontmatter must consist of key: value lines.'],
  ['model: opus\nname: a/b\n', ':3  name is "a/b", expected a single line without'],
  ['name: -x\n', ':2  name is "-x", expected'],
  ['name: [a]\n', ':2  name is not a string, expected'],
  ['name: "a\\nb"\n', ':2  name is "a\\nb", expected'],
  ['name: a\n\nmodel: gpt\n', ':4  model is "gpt", expected "inherit", "sonnet"'],
  ['tools: 3\n', ':2  tools is 3, expected tool names'],
  ['tools: { a: 1 }\n', ':2  tools is not a string, expected tool names'],
  ['tools: [1]\n', ':2  tools is not a string'],
  ['permissionMode: yolo\n', ':2  permissionMode is "yolo", expected acceptEdits'],
  ['maxTurns: 0\n', ':2  maxTurns is 0, expected a positive integer'],
])('a mistake is reported with file and line: %j', (frontmatter, message) => {
  expect(refusal(frontmatter)).toStartWith(PATH + message)
})

test('unclosed, huge and lone frontmatter is refused', () => {
  expect(() => parseAgentFile('---\nname: a\n', PATH, 'a')).toThrow(`${PATH}:1  The frontmatter is`)
  expect(() => parseAgentFile('---', PATH, 'a')).toThrow('never closed')
  expect(refusal(`a: ${'x'.repeat(70_000)}\n`)).toContain('longer than 64 KiB')
  expect(refusal(`a: ${'['.repeat(60_000)}\n`)).toContain('not valid YAML')
  expect(refusal('name: a\n', ' \n')).toBe(`${PATH}  No system prompt after the frontmatter.`)
})
