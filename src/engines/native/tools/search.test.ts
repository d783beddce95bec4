import { expect, test } from 'bun:test'
import { existsSync, renameSync, symlinkSync, truncateSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject, sh, type Files } from '../../../../tests/support/project.ts'
import { callerIn, makeWorkspace } from '../../../../tests/support/workspace.ts'
import type { Workspace } from './tool.ts'

const FILES: Files = {
  'src/a.ts': 'import x\nconst one = 1\nconst two = 2\nexport { one }\n',
  'src/b/c.tsx': 'const Three = 3\r\nconst four = (4)\r\n',
  'notes.md': 'one\n\n\n\n\none more\n',
  'data.bin': 'const one\0',
  '.hidden': 'const hidden\n',
  'node_modules/x/index.js': 'const one\n',
}

const FOUND: readonly (readonly [object, string])[] = [
  [{ pattern: 'const \\w+ =', glob: '*.ts' }, 'src/a.ts\n2:const one = 1\n3:const two = 2'],
  [{ pattern: 'one', mode: 'files' }, 'notes.md\nsrc/a.ts'],
  [{ pattern: 'one', mode: 'counts' }, 'notes.md: 2\nsrc/a.ts: 2\n[4 lines, 2 files]'],
  [
    { pattern: '= \\d$' },
    'src/a.ts\n2:const one = 1\n3:const two = 2\nsrc/b/c.tsx\n1:const Three = 3',
  ],
  [{ pattern: 'THREE', ignoreCase: true }, 'src/b/c.tsx\n1:const Three = 3'],
  [{ pattern: '(?i)three' }, 'src/b/c.tsx\n1:const Three = 3'],
  [{ pattern: '\\(4\\)' }, 'src/b/c.tsx\n2:const four = (4)'],
  [{ pattern: '\\p{Lu}hree' }, 'src/b/c.tsx\n1:const Three = 3'],
  [{ pattern: 'one', path: 'notes.md', context: 1 }, 'notes.md\n1:one\n2-\n--\n5-\n6:one more'],
  [
    { pattern: 'one|two', path: 'src', context: 1 },
    'src/a.ts\n1-import x\n2:const one = 1\n3:const two = 2\n4:export { one }',
  ],
  [{ pattern: 'const', glob: '**/*.{ts,tsx}', mode: 'files' }, 'src/a.ts\nsrc/b/c.tsx'],
  [{ pattern: 'const', glob: 'src/*.ts', mode: 'files' }, 'src/a.ts'],
  [{ pattern: 'const', path: 'src', glob: 'b/**', mode: 'files' }, 'src/b/c.tsx'],
  [{ pattern: 'const', glob: '!*.tsx', mode: 'files' }, '.hidden\nsrc/a.ts'],
  [{ pattern: 'const', path: 'node_modules/x', mode: 'files' }, 'node_modules/x/index.js'],
  [{ pattern: 'const one', path: 'data.bin' }, 'No matches.'],
  [
    { pattern: 'one', limit: 1 },
    'notes.md\n1:one\n[there is more; narrow the search with pattern, path or glob]',
  ],
  [
    { pattern: 'one', limit: 2 },
    'notes.md\n1:one\n6:one more\n[there is more; narrow the search with pattern, path or glob]',
  ],
  [{ pattern: "it's $(touch x)" }, 'No matches.'],
  [{ pattern: '\\\\n' }, 'No matches.'],
]

test.each(FOUND)('grep %j', async (input, text) => {
  expect(await callerIn(makeWorkspace(FILES))('grep', input)).toEqual({ text })
})

const WRONG: readonly (readonly [object, string])[] = [
  [
    { pattern: 'a(' },
    'Wrong input for grep: pattern is not a regular expression (Invalid regular expression: missing )); put \\ before ( [ { * + ? . to search for them.',
  ],
  [
    { pattern: '[[:alpha:]]+' },
    'Wrong input for grep: pattern has a POSIX class; write for example \\s, \\d or [a-zA-Z].',
  ],
  [
    { pattern: 'a\\nb' },
    'Wrong input for grep: pattern has a line break, but is matched line by line.',
  ],
  [{ pattern: 'a', path: 'sr' }, 'File does not exist: sr; there is src in the same folder'],
  [
    { pattern: 'a', glob: '../**' },
    'Cannot search ../**: a glob is relative to the project; pass a folder as path.',
  ],
  [
    { pattern: 'a', glob: '/etc/*' },
    'Cannot search /etc/*: a glob is relative to the project; pass a folder as path.',
  ],
  [
    { pattern: 'a', path: 'fifo' },
    'Cannot search fifo: it is neither a folder nor a regular file.',
  ],
]

test.each(WRONG)('grep %j is refused', async (input, text) => {
  const workspace = makeWorkspace(FILES)
  Bun.spawnSync(['mkfifo', join(workspace.cwd, 'fifo')])
  expect(await callerIn(workspace)('grep', input)).toEqual({ text, isError: true })
})

function git(workspace: Workspace, ...args: string[]): void {
  const { exitCode } = Bun.spawnSync(['git', ...args], { cwd: workspace.cwd })
  expect(exitCode).toBe(0)
}

test('files that git ignores are skipped, unless they are named', async () => {
  const workspace = makeWorkspace({
    '.gitignore': 'dist/\n*.log\n',
    'a.ts': 'word\n',
    'gone.ts': 'word\n',
    'dist/a.js': 'word\n',
    'deep/x.log': 'word\n',
    'deep/new.ts': 'word\n',
    'nested/inner.ts': 'word\n',
    'nested/skipped.txt': 'word\n',
    'nested/.gitignore': 'skipped.txt\n',
  })
  git(workspace, 'init', '--quiet')
  git(workspace, 'add', 'a.ts', 'gone.ts')
  Bun.spawnSync(['git', 'init', '--quiet'], { cwd: join(workspace.cwd, 'nested') })
  renameSync(join(workspace.cwd, 'gone.ts'), join(workspace.cwd, '.git/gone.ts'))
  const call = callerIn(workspace)
  const files = async (path: string) =>
    (await call('grep', { pattern: 'word', mode: 'files', path })).text
  expect(await files('.')).toBe('a.ts\ndeep/new.ts\nnested/inner.ts')
  expect(await files('deep')).toBe('deep/new.ts')
  expect(await files('dist')).toBe('dist/a.js')
  expect(await files('deep/x.log')).toBe('deep/x.log')
})

test('without git, folders are walked', async () => {
  const workspace = makeWorkspace({ ...FILES, '.git/config': 'const\n' })
  const poor: Workspace = {
    ...workspace,
    exec: (command, options) => workspace.exec(`PATH=/nowhere; ${command}`, options),
  }
  const { text } = await callerIn(poor)('grep', { pattern: 'const', mode: 'files' })
  expect(text).toBe('.hidden\nsrc/a.ts\nsrc/b/c.tsx')
})

test('a single file outside the project can be a root', async () => {
  const file = join(makeProject({ 'notes.md': 'word\n', 'secret.md': 'word\n' }), 'notes.md')
  const call = callerIn(makeWorkspace({}, [file]))
  expect((await call('grep', { pattern: 'word', path: file })).text).toBe(`${file}\n1:word`)
})

test('relative entries of PATH are not used', async () => {
  const workspace = makeWorkspace({ ...FILES, git: sh(': > started', 'exit 1') })
  const odd: Workspace = {
    ...workspace,
    exec: (command, options) =>
      workspace.exec(`PATH=.:; ${command.replace('cd /', 'cd .')}`, options),
  }
  await callerIn(odd)('grep', { pattern: 'const' })
  expect(existsSync(join(workspace.cwd, 'started'))).toBe(false)
})

test('links do not lead the search outside', async () => {
  const elsewhere = makeProject({ 'secret.txt': 'word\n' })
  const workspace = makeWorkspace({ 'in/secret.txt': 'word\n', 'a.txt': 'word\n' })
  git(workspace, 'init', '--quiet')
  git(workspace, 'add', '.')
  renameSync(join(workspace.cwd, 'in'), join(workspace.cwd, '.git/in'))
  symlinkSync(elsewhere, join(workspace.cwd, 'in'))
  symlinkSync(join(elsewhere, 'secret.txt'), join(workspace.cwd, 'link.txt'))
  const call = callerIn(workspace)
  expect((await call('grep', { pattern: 'word', mode: 'files' })).text).toBe('a.txt')
  expect((await call('glob', { pattern: '**' })).text).toBe('a.txt')
  for (const path of ['in', 'link.txt', '..', elsewhere]) {
    const { text } = await call('grep', { pattern: 'word', path })
    expect(text).toBe(`Cannot search ${path}: it is outside ${workspace.cwd}.`)
  }
})

test('a root outside the project can be searched, and its files have absolute paths', async () => {
  const root = makeProject({ 'a.txt': 'word\n' })
  const { text } = await callerIn(makeWorkspace({}, [root]))('grep', {
    pattern: 'word',
    path: root,
  })
  expect(text).toBe(`${root}/a.txt\n1:word`)
})

test('settings of the project cannot run programs', async () => {
  const workspace = makeWorkspace({
    'bunfig.toml': 'preload = ["./evil.ts"]\n',
    'evil.ts': 'require("node:fs").writeFileSync("evil-was-here", "")\n',
    'a.txt': 'word\n',
  })
  git(workspace, 'init', '--quiet')
  git(workspace, 'config', 'core.fsmonitor', 'touch evil-was-here; false')
  const call = callerIn(workspace)
  expect((await call('grep', { pattern: '^word' })).text).toBe('a.txt\n1:word')
  expect((await call('glob', { pattern: 'evil-*' })).text).toBe('No files.')
})

test('long lines are cut around the match, and long answers after a line', async () => {
  const workspace = makeWorkspace({
    'a.min.js': `${'f(x);'.repeat(1000)}needle${'g(y);'.repeat(1000)}\n`,
    many: `${'z'.repeat(290)}\n`.repeat(400),
    'new\nline': 'newline\n',
  })
  const call = callerIn(workspace)
  const { text } = await call('grep', { pattern: 'needle' })
  expect(text).toBe(
    `a.min.js\n1:…${'(x);f'.repeat(20).slice(0, -1)}needle${'g(y);'.repeat(38)}g(y)…`,
  )
  const many = await call('grep', { pattern: 'zz', limit: 400 })
  expect(many.text.length).toBeLessThan(41_000)
  expect(many.text).toEndWith('z\n[there is more; narrow the search with pattern, path or glob]')
  expect((await call('grep', { pattern: 'newline' })).text).toBe('new?line\n1:newline')
})

test('of a key that is cut, only the match is shown', async () => {
  const key = `sk-${'abc123'.repeat(100)}`
  const call = callerIn(makeWorkspace({ a: `${key} needle ${key}\n`, b: `(${key})\n` }))
  expect((await call('grep', { pattern: 'needle' })).text).toBe('a\n1:… needle …')
  expect((await call('grep', { pattern: 'sk-abc', path: 'b' })).text).toBe('b\n1:(sk-abc…')
})

test('huge files are skipped, with a remark', async () => {
  const workspace = makeWorkspace({ huge: 'word\n', 'a.txt': 'word\n' })
  truncateSync(join(workspace.cwd, 'huge'), 1024 ** 3)
  const { text } = await callerIn(workspace)('grep', { pattern: 'word' })
  expect(text).toBe('a.txt\n1:word\n[files larger than 32 MiB, skipped: 1]')
})

test('a pattern that takes too long is stopped, and earlier matches are kept', async () => {
  const workspace = makeWorkspace({ 'a.txt': 'xxxxxxx\n', 'b.txt': `${'x'.repeat(3000)}\n` })
  const hasty = {
    ...workspace,
    exec: (command: string, options: Parameters<typeof workspace.exec>[1]) =>
      workspace.exec(command, { ...options, timeoutMs: 1000 }),
  }
  const answer = await callerIn(hasty)('grep', { pattern: '^.*.*.*.*.*.*.*$|x*x*x*x*x*x*x*y' })
  const slow = await callerIn(hasty)('grep', { pattern: 'x*x*x*x*x*x*x*y|^x{7}$' })
  expect(answer.isError).toBeUndefined()
  expect(slow).toEqual({
    text: 'a.txt\n1:xxxxxxx\n[stopped after 30 seconds; narrow the search or simplify the pattern]',
    isError: true,
  })
})

test('a search can be stopped', async () => {
  const answer = await callerIn(makeWorkspace(FILES))('grep', { pattern: 'a' }, AbortSignal.abort())
  expect(answer).toEqual({ text: '[stopped]', isError: true })
})

/** From the oldest to the newest. */
const NAMES = ['src/old.ts', 'README.md', 'src/deep/new.ts', 'src/ü 日本.tsx', '.env', "it's"]

function makeFixtures() {
  const workspace = makeWorkspace(Object.fromEntries(NAMES.map((name) => [name, 'x'])))
  for (const [at, name] of NAMES.entries()) utimesSync(join(workspace.cwd, name), at + 1, at + 1)
  return workspace
}

const NAMED: readonly (readonly [object, string])[] = [
  [{ pattern: '*.ts' }, 'src/deep/new.ts\nsrc/old.ts'],
  [{ pattern: 'src/*.ts' }, 'src/old.ts'],
  [{ pattern: './src/**/*.{ts,tsx}' }, 'src/ü 日本.tsx\nsrc/deep/new.ts\nsrc/old.ts'],
  [{ pattern: '**/*.ts', path: 'src/deep' }, 'src/deep/new.ts'],
  [{ pattern: '**' }, NAMES.toReversed().join('\n')],
  [{ pattern: "it's" }, "it's"],
  [{ pattern: '*.py' }, 'No files.'],
  [{ pattern: '[' }, 'No files.'],
]

test.each(NAMED)('glob %j finds files, newest first', async (input, text) => {
  expect(await callerIn(makeFixtures())('glob', input)).toEqual({ text })
})

test('a glob may be absolute within the project', async () => {
  const workspace = makeFixtures()
  const { text } = await callerIn(workspace)('glob', { pattern: `${workspace.cwd}/src/*.ts` })
  expect(text).toBe('src/old.ts')
})

test('of many files, only the newest are listed', async () => {
  const names = Array.from({ length: 250 }, (_, at) => `f${at}`)
  const workspace = makeWorkspace(Object.fromEntries(names.map((name) => [name, ''])))
  utimesSync(join(workspace.cwd, 'f200'), 2e9, 2e9)
  const { text } = await callerIn(workspace)('glob', { pattern: 'f*' })
  const lines = text.split('\n')
  expect(lines[0]).toBe('f200')
  expect(lines).toHaveLength(201)
  expect(lines.at(-1)).toBe(
    '[only the newest of 250; narrow the search with pattern, path or glob]',
  )
})
