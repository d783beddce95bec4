import { expect, test } from 'bun:test'
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../../tests/support/project.ts'
import { callerIn, makeWorkspace } from '../../../../tests/support/workspace.ts'
import { saveFile } from './change-file.ts'
import { SeenFiles, seenInPrompt, type SeenFile } from './seen.ts'

test('a new file is created with its folders, and the diff has all of it', async () => {
  const workspace = makeWorkspace()
  const answer = await callerIn(workspace)('write', { path: 'a/b/ü 日本.ts', content: 'x\ny\n' })
  expect(answer.text).toBe('Created a/b/ü 日本.ts: 2 lines.')
  expect(answer.diff).toBe('--- /dev/null\n+++ b/a/b/ü 日本.ts\n@@ -0,0 +1,2 @@\n+x\n+y\n')
  expect(readFileSync(join(workspace.cwd, 'a/b/ü 日本.ts'), 'utf8')).toBe('x\ny\n')
  expect(readdirSync(join(workspace.cwd, 'a/b'))).toEqual(['ü 日本.ts'])
})

test('a file that was read can be replaced, keeps its mode and gets a diff', async () => {
  const workspace = makeWorkspace({ 'run.sh': '#!/bin/sh\necho a\n' })
  const path = join(workspace.cwd, 'run.sh')
  chmodSync(path, 0o750)
  const call = callerIn(workspace)
  await call('read', { path: 'run.sh' })
  const answer = await call('write', { path: 'run.sh', content: '#!/bin/sh\necho b\n' })
  expect(answer.text).toBe('Replaced run.sh: 2 lines.')
  expect(answer.diff).toBe(
    '--- a/run.sh\n+++ b/run.sh\n@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo a\n+echo b\n',
  )
  expect(statSync(path).mode & 0o777).toBe(0o750)
})

const UNREAD = 'Cannot write a: it exists and was not read in this conversation; read it first.'
const CHANGED = 'Cannot write a: it has changed since it was read; read it again.'

test('a file that was not read, or has changed since, is not overwritten', async () => {
  const workspace = makeWorkspace({ a: 'old\n' })
  const path = join(workspace.cwd, 'a')
  const call = callerIn(workspace)
  const write = async (content: string) => (await call('write', { path: 'a', content })).text
  expect(await write('new\n')).toBe(UNREAD)
  await call('read', { path: './a' })
  writeFileSync(path, 'other\n')
  expect(await write('new\n')).toBe(CHANGED)
  expect(readFileSync(path, 'utf8')).toBe('other\n')
  writeFileSync(path, 'old\n')
  expect(await write('new\n')).toBe('Replaced a: 1 line.')
  expect(await write('newer')).toBe('Replaced a: 1 line.')
  expect(await write('newer')).toBe('a already has this content.')
})

const PART =
  'Cannot write a: only a part of it was read in this conversation; read the rest, or use edit.'

test('a file that was read in part can be edited, and replaced once all of it was read', async () => {
  const workspace = makeWorkspace({ a: 'one\ntwo\nthree\n' })
  const call = callerIn(workspace)
  const write = async (content: string) => (await call('write', { path: 'a', content })).text
  const read = (offset: number, limit: number) => call('read', { path: 'a', offset, limit })
  await read(2, 1)
  expect(await write('new\n')).toBe(PART)
  const edits = [{ old: 'two', new: '2' }]
  const edited = await call('edit', { path: 'a', edits })
  expect(edited.text).toBe('Edited a: 1 replacement, at line 2.')
  expect(await write('new\n')).toBe(PART)
  await read(1, 1)
  expect(await write('new\n')).toBe(PART)
  await read(3, 5)
  expect(await write('new\n')).toBe(PART)
  await read(2, 1)
  expect(await write('new\n')).toBe('Replaced a: 1 line.')
})

test('a resumed conversation knows the files it has seen, also those from /read', async () => {
  const workspace = makeWorkspace({ a: 'a\n', b: '\uFEFFb\n' })
  const kept: SeenFile[] = []
  const first = callerIn(workspace)
  for (const [tool, input] of [
    ['read', { path: 'a' }],
    ['write', { path: 'new', content: 'x' }],
  ] as const) {
    kept.push((await first(tool, input)).seen!)
  }
  kept.push(seenInPrompt('b', '\uFEFFb\n', workspace)!)
  const resumed = callerIn(workspace, new SeenFiles(JSON.parse(JSON.stringify(kept))))
  for (const path of ['a', 'b', 'new']) {
    expect((await resumed('write', { path, content: 'y\n' })).text).toBe(
      `Replaced ${path}: 1 line.`,
    )
  }
  expect(seenInPrompt('../x', 'x', workspace)).toBeUndefined()
})

test('line ends and the byte order mark are kept', async () => {
  const workspace = makeWorkspace({ crlf: '\uFEFFa\r\nb\r\n', mixed: 'a\r\nb\n' })
  const call = callerIn(workspace)
  for (const path of ['crlf', 'mixed']) {
    await call('read', { path })
    await call('write', { path, content: 'x\ny\n' })
  }
  expect(readFileSync(join(workspace.cwd, 'crlf'), 'utf8')).toBe('\uFEFFx\r\ny\r\n')
  expect(readFileSync(join(workspace.cwd, 'mixed'), 'utf8')).toBe('x\ny\n')
})

test('a link within the project stays a link', async () => {
  const workspace = makeWorkspace({ 'real/a': 'x' })
  symlinkSync('real/a', join(workspace.cwd, 'link'))
  symlinkSync('real/new', join(workspace.cwd, 'dangling'))
  const call = callerIn(workspace)
  await call('read', { path: 'link' })
  await call('write', { path: 'link', content: 'y' })
  await call('write', { path: 'dangling', content: 'z' })
  expect(lstatSync(join(workspace.cwd, 'link')).isSymbolicLink()).toBe(true)
  expect(readFileSync(join(workspace.cwd, 'real/a'), 'utf8')).toBe('y')
  expect(readFileSync(join(workspace.cwd, 'real/new'), 'utf8')).toBe('z')
})

test.each(['../x', '/no/such/x', 'out/x', 'out/deep/x', 'dangling', 'a/../../x'])(
  '%s is outside, and nothing is created there',
  async (path) => {
    const elsewhere = makeProject()
    const workspace = makeWorkspace()
    symlinkSync(elsewhere, join(workspace.cwd, 'out'))
    symlinkSync(join(elsewhere, 'x'), join(workspace.cwd, 'dangling'))
    const answer = await callerIn(workspace)('write', { path, content: 'x' })
    const text = `Cannot write ${path}: it is outside ${workspace.cwd}.`
    expect(answer).toEqual({ text, isError: true })
    expect(readdirSync(elsewhere)).toEqual([])
  },
)

const REFUSED: readonly (readonly [string, string])[] = [
  ['folder', 'it is a folder'],
  ['fifo', 'it is not a regular file'],
  ['huge', 'it is 9 MiB, the limit is 8 MiB; use bash'],
  ['bin', 'it exists and is a binary file; remove it first'],
  ['bin/x', 'part of the path is a file, not a folder'],
  ['bin/x/y', 'part of the path is a file, not a folder'],
]

test.each(REFUSED)('%s cannot be written', async (path, problem) => {
  const workspace = makeWorkspace({ 'folder/x': '', huge: '', bin: 'a\0b' })
  truncateSync(join(workspace.cwd, 'huge'), 9 * 1024 ** 2)
  Bun.spawnSync(['mkfifo', join(workspace.cwd, 'fifo')])
  const answer = await callerIn(workspace)('write', { path, content: 'x' })
  expect(answer).toEqual({ text: `Cannot write ${path}: ${problem}.`, isError: true })
})

test('long and strange names are handled', async () => {
  const workspace = makeWorkspace()
  const call = callerIn(workspace)
  const long = await call('write', { path: 'x'.repeat(300), content: '' })
  expect(long).toMatchObject({ isError: true })
  const strange = await call('write', { path: 'a\nb', content: 'x\n' })
  expect(strange).toMatchObject({ text: 'Created a b: 1 line.' })
  expect(strange.diff).toStartWith('--- /dev/null\n+++ b/a b\n')
  expect(existsSync(join(workspace.cwd, 'a\nb'))).toBe(true)
})

test.each(['.git/config', '.git/hooks/pre-commit', 'sub/.git', 'link/config'])(
  '%s belongs to git and is not written',
  async (path) => {
    const workspace = makeWorkspace({ '.git/config': '[core]\n', 'sub/x': '' })
    symlinkSync('.git', join(workspace.cwd, 'link'))
    const call = callerIn(workspace)
    await call('read', { path })
    const { text, isError } = await call('write', { path, content: '[core]\nfsmonitor = x\n' })
    expect({ text, isError }).toEqual({
      text: `Cannot write ${path}: git keeps its own files there; use git commands instead.`,
      isError: true,
    })
    expect(readFileSync(join(workspace.cwd, '.git/config'), 'utf8')).toBe('[core]\n')
  },
)

test('a folder that was replaced by a link to outside is not written to', () => {
  const elsewhere = makeProject()
  const workspace = makeWorkspace()
  symlinkSync(elsewhere, join(workspace.cwd, 'folder'))
  const problem = saveFile(join(workspace.cwd, 'folder/x'), Buffer.from('x'), undefined, workspace)
  expect(problem).toBe('its folder has moved')
  expect(readdirSync(elsewhere)).toEqual([])
})

test('a full disk is reported, and the old file stays', async () => {
  const workspace = makeWorkspace({ a: 'old\n' })
  const support = join(import.meta.dir, '../../../../tests/support/workspace.ts')
  const code = `
    import { callerIn } from ${JSON.stringify(support)}
    process.on('SIGXFSZ', () => undefined)
    const call = callerIn({ cwd: process.cwd(), roots: [] })
    await call('read', { path: 'a' })
    const answer = await call('write', { path: 'a', content: 'x'.repeat(1e6) })
    process.stderr.write(answer.text)`
  // The system has the same for a limit as for a disk: the first bytes are written, then no more.
  const limited = 'ulimit -f 8; exec "$0" -e "$1"'
  const { stderr } = Bun.spawnSync(['sh', '-c', limited, process.execPath, code], {
    cwd: workspace.cwd,
  })
  expect(stderr.toString()).toBe('Cannot write a: the file would be larger than the system allows.')
  expect(readdirSync(workspace.cwd)).toEqual(['a'])
  expect(readFileSync(join(workspace.cwd, 'a'), 'utf8')).toBe('old\n')
})

test('a diff of very different texts is short', async () => {
  const many = (word: string) =>
    Array.from({ length: 50_000 }, (_, at) => `${word}${at}\n`).join('')
  const workspace = makeWorkspace({ a: many('a') })
  const call = callerIn(workspace, new SeenFiles([seenInPrompt('a', many('a'), workspace)!]))
  const { diff } = await call('write', { path: 'a', content: many('b') })
  expect(diff).toBe('--- a/a\n+++ b/a\n[too many changes to show: 50001 lines before, 50001 now]\n')
  const long = await call('write', {
    path: 'min.js',
    content: `${'x'.repeat(9000)} ${'y'.repeat(9000)}`,
  })
  expect(long.diff!.length).toBeLessThan(200)
  const made = await call('write', { path: 'b', content: many('b') })
  expect(made.diff).toEndWith('[49002 more lines]\n')
})
