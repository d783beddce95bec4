import { expect, test } from 'bun:test'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject, writeFiles, type Files } from '../../tests/support/project.ts'
import { PROJECT_AGENTS, readAgentFiles, readUserAgents } from './agent-files.ts'

const agent = (name: string) => `---\nname: ${name}\n---\nYou are ${name}.\n`

function makeFolder(files: Files): string {
  const folder = join(makeProject(), PROJECT_AGENTS)
  mkdirSync(folder, { recursive: true })
  writeFiles(folder, files)
  return folder
}

const read = (folder: string) => readAgentFiles(folder, PROJECT_AGENTS)
const messages = (folder: string) => read(folder).problems.map(({ message }) => message)

test('only the Markdown files of a folder are agents', () => {
  const folder = makeFolder({
    'z.md': agent('first'),
    'b.md': '---\n---\nYou are b.\n',
    'sub/c.md': agent('c'),
    '.hidden.md': agent('hidden'),
    'notes.txt': agent('notes'),
    'x.md.bak': agent('x'),
  })
  expect([...read(folder).agents.values()].map(({ name, path }) => [name, path])).toEqual([
    ['b', '.claude/agents/b.md'],
    ['first', '.claude/agents/z.md'],
  ])
  expect(messages(folder)).toEqual([])
})

test('a missing folder has no agents', () => {
  const cwd = makeProject({ '.claude': 'a file\n' })
  expect(read(join(cwd, PROJECT_AGENTS))).toEqual({ agents: new Map(), problems: [] })
  expect(read(join(cwd, 'nowhere'))).toEqual({ agents: new Map(), problems: [] })
})

test('two files of one name are not an agent, and both are reported', () => {
  const folder = makeFolder({ 'a.md': agent('x'), 'b.md': agent('x'), 'c.md': agent('c') })
  expect([...read(folder).agents.keys()]).toEqual(['c'])
  expect(read(folder).problems).toEqual([
    {
      name: 'x',
      message: ".claude/agents/b.md:2  The name 'x' is also used by .claude/agents/a.md.",
      hint: 'Give one of them another name.',
    },
  ])
})

test('a good file with the name of a broken one is not an agent', () => {
  const broken = agent('x').replace('\n---', '\nmodel: gpt\n---')
  for (const files of [
    { 'a.md': agent('x'), 'b.md': broken },
    { 'a.md': broken, 'b.md': agent('x') },
    { 'x.md': '---\n: [\n---\n', 'z.md': agent('x') },
  ]) {
    const { agents, problems } = read(makeFolder({ ...files, 'c.md': agent('c') }))
    expect([...agents.keys()]).toEqual(['c'])
    expect(problems.map(({ name }) => name)).toEqual(['x', 'x'])
    expect(problems[1]?.message).toMatch(
      /:2 {2}The name 'x' is also used by .claude\/agents\/.\.md\.$/,
    )
  }
})

test('three files of one name are not an agent', () => {
  const files = Object.fromEntries(['a', 'b', 'c'].map((name) => [`${name}.md`, agent('x')]))
  expect(read(makeFolder(files)).agents.size).toBe(0)
})

test('unreadable files are reported, and the others are read', () => {
  const folder = makeFolder({
    'big.md': `${agent('big')}${'x'.repeat(10_000_000)}`,
    'bytes.md': new Uint8Array([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe]),
    'nul.md': `${agent('nul')}\0`,
    'good.md': agent('good'),
  })
  Bun.spawnSync(['mkfifo', join(folder, 'fifo.md')])
  mkdirSync(join(folder, 'folder.md'))
  symlinkSync('loop.md', join(folder, 'loop.md'))
  symlinkSync('nowhere', join(folder, 'lost.md'))
  expect([...read(folder).agents.keys()]).toEqual(['good'])
  expect(messages(folder)).toEqual([
    '.claude/agents/big.md is 9.5 MiB, over the limit of 1 MiB.',
    '.claude/agents/bytes.md is not UTF-8 text.',
    '.claude/agents/fifo.md is not a regular file.',
    '.claude/agents/folder.md is a directory, expected a file.',
    '.claude/agents/loop.md is in a symbolic link loop.',
    '.claude/agents/lost.md is a broken link.',
    '.claude/agents/nul.md is not text: it has NUL bytes.',
  ])
  expect(read(folder).problems.every(({ isHarmless }) => isHarmless === undefined)).toBe(true)
})

test('a folder that is a loop of links is reported', () => {
  const cwd = makeProject({ '.claude/x': '' })
  symlinkSync('agents', join(cwd, PROJECT_AGENTS))
  expect(messages(join(cwd, PROJECT_AGENTS))).toEqual([
    '.claude/agents cannot be read: it is in a symbolic link loop.',
  ])
})

test('other notes in the folder are harmless', () => {
  expect(read(makeFolder({ 'README.md': '# Our agents\n' })).problems).toMatchObject([
    { name: 'README', isHarmless: true },
  ])
})

test('links to agents are followed', () => {
  const folder = makeFolder({})
  writeFileSync(join(folder, '../shared'), agent('shared'))
  symlinkSync('../shared', join(folder, 'link.md'))
  expect([...read(folder).agents.keys()]).toEqual(['shared'])
})

test('agents of the user are in the folder of Claude Code', () => {
  const home = makeProject({
    '.claude/agents/a.md': agent('a'),
    'moved/agents/b.md': agent('b'),
  })
  const names = (env: Record<string, string>) =>
    [...readUserAgents(env).agents.values()].map(({ path }) => path)
  expect(names({ HOME: home })).toEqual(['~/.claude/agents/a.md'])
  const moved = join(home, 'moved')
  expect(names({ HOME: home, CLAUDE_CONFIG_DIR: moved })).toEqual([join(moved, 'agents/b.md')])
  expect(names({})).toEqual([])
})
