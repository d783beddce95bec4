import { expect, test } from 'bun:test'
import { callerIn, makeWorkspace } from '../../../../tests/support/workspace.ts'
import { isAllowed } from '../../tool-names.ts'
import { makeFileTools } from './file-tools.ts'
import { SeenFiles } from './seen.ts'

const TOOLS = makeFileTools(new SeenFiles())

const READS = { allowedTools: ['Read', 'Grep', 'Bash'], disallowedTools: ['bash'] }
const NAMES = ['Read', 'Write', 'Edit', 'Bash', 'Grep', 'Glob']

test('the descriptions of all tools are smaller than 4 KB', () => {
  const definitions = TOOLS.map(({ name, description, inputSchema }) => ({
    name,
    description,
    inputSchema,
  }))
  expect(JSON.stringify(definitions).length).toBeLessThan(4000)
  for (const { inputSchema } of TOOLS) {
    expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
    expect(inputSchema).not.toHaveProperty('$schema')
  }
})

test('the lists of an agent can name every tool', () => {
  expect(TOOLS.map(({ name }) => name).filter((name) => isAllowed(name, READS))).toEqual([
    'read',
    'grep',
  ])
  expect(TOOLS.filter(({ name }) => !isAllowed(name, { allowedTools: NAMES }))).toEqual([])
})

const BRIEFS: readonly (readonly [string, unknown, string])[] = [
  ['read', { path: 'a.ts' }, 'a.ts'],
  ['read', { path: 'a.ts', offset: 5, limit: 10 }, 'a.ts:5-14'],
  ['read', { path: 'a.ts', offset: 5 }, 'a.ts:5-'],
  ['read', { file: 'a.ts' }, 'read'],
  ['write', { path: 'a\nb.ts', content: '' }, 'a b.ts'],
  ['edit', { path: 'a.ts', edits: [{ old: 'a', new: 'b' }] }, 'a.ts'],
  ['bash', { command: 'npm test' }, 'npm test'],
  ['bash', { command: `echo ${'word '.repeat(50)}` }, `echo ${'word '.repeat(18)}word…`],
  ['grep', { pattern: 'a+', path: 'src', glob: '*.ts' }, 'a+ in src (*.ts)'],
  ['glob', { pattern: '**/*.ts' }, '**/*.ts'],
]

test.each(BRIEFS)('the brief of %s %j', (name, input, brief) => {
  expect(TOOLS.find((tool) => tool.name === name)!.brief(input)).toBe(brief)
})

const MISTAKES: readonly (readonly [string, unknown, string])[] = [
  ['read', {}, 'path is missing, expected a path as text.'],
  ['read', 'a.ts', 'it is "a.ts", expected an object.'],
  ['read', undefined, 'it is undefined, expected an object.'],
  ['read', { path: '' }, 'path is "", expected a path as text that is not empty and has no NUL.'],
  [
    'read',
    { path: 'a\0b' },
    String.raw`path is "a\u0000b", expected a path as text that is not empty and has no NUL.`,
  ],
  ['read', { path: 'a', offset: 0 }, 'offset is 0, expected a whole number of at least 1.'],
  ['read', { path: 'a', limit: '10' }, 'limit is "10", expected a whole number from 1 to 2000.'],
  ['read', { path: 'a', limt: 10 }, "limt is unknown (did you mean 'limit'?)."],
  ['read', { path: 'a', zzz: 10 }, 'zzz is unknown, known: path, offset, limit.'],
  [
    'write',
    { path: 'a', content: { a: 1 } },
    'content is {"a":1}, expected the whole content as text.',
  ],
  [
    'edit',
    { path: 'a', edits: [] },
    'edits is [], expected a list such as [{ "old": "a", "new": "b" }].',
  ],
  [
    'edit',
    { path: 'a', edits: [{ old: 'a' }, { old: 'a', new: 'b', all: true }] },
    'edits[0].new is missing, expected the text to put there; edits[1].all is unknown.',
  ],
  [
    'bash',
    { command: ' ' },
    'command is " ", expected a command that is not empty and has no NUL.',
  ],
  [
    'bash',
    { command: 'ls', timeout: 120000 },
    'timeout is 120000, expected a whole number from 1 to 600.',
  ],
  ['grep', { pattern: '' }, 'pattern is "", expected a regular expression that is not empty.'],
  [
    'grep',
    { pattern: 'a', mode: 'content' },
    'mode is "content", expected "lines", "files" or "counts".',
  ],
  ['glob', { pattern: 'x'.repeat(70), path: 7 }, 'path is 7, expected a path as text.'],
  [
    'glob',
    { pattern: ['*'.repeat(70)] },
    `pattern is ["${'*'.repeat(58)}…, expected a glob as text.`,
  ],
]

test.each(MISTAKES)('%s refuses %j with what it expects', async (name, input, problem) => {
  const answer = await callerIn(makeWorkspace())(name, input)
  expect(answer).toEqual({ text: `Wrong input for ${name}: ${problem}`, isError: true })
})

test('null counts as absent', async () => {
  const call = callerIn(makeWorkspace({ a: 'x\n' }))
  expect(await call('read', { path: 'a', offset: null, limit: null })).toHaveProperty(
    'text',
    '1\tx',
  )
})
