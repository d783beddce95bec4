import { expect, test } from 'bun:test'
import { mkdirSync, renameSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../tests/support/project.ts'
import { makeReader, READ_LIMIT, readForPrompt, type ReadOptions } from './read-files.ts'

const OUTSIDE = 'it is outside the project and not under "readRoots" in the configuration.'

function errorOf(path: string, options: ReadOptions): string {
  const answer = readForPrompt(path, options)
  if (answer.ok) throw new Error(`${path} was read`)
  return answer.error
}

test('a file is read unchanged, with its size, time and estimated tokens', () => {
  const text = '\uFEFFé 日本\r\n/read other.md\n${NAME}\n'
  const cwd = makeProject({ 'docs/ü 日本.md': text, empty: '' })
  const bytes = Buffer.byteLength(text)
  const { mtimeMs } = statSync(join(cwd, 'docs/ü 日本.md'))
  const answer = { ok: true as const, text, bytes, tokens: Math.ceil(bytes / 4), mtimeMs }
  expect(readForPrompt('docs/ü 日本.md', { cwd })).toEqual(answer)
  expect(readForPrompt('./docs/../docs/ü 日本.md', { cwd })).toEqual(answer)
  expect(readForPrompt(join(cwd, 'docs/ü 日本.md'), { cwd })).toEqual(answer)
  expect(readForPrompt('empty', { cwd })).toMatchObject({ ok: true, text: '', bytes: 0, tokens: 0 })
})

test('a file is read again every time', () => {
  const cwd = makeProject({ 'a.md': 'first' })
  expect(readForPrompt('a.md', { cwd })).toHaveProperty('text', 'first')
  writeFileSync(join(cwd, 'a.md'), 'second, longer')
  expect(readForPrompt('a.md', { cwd })).toHaveProperty('text', 'second, longer')
})

test('a file may be exactly as long as the limit', () => {
  const cwd = makeProject({
    'most.md': 'x'.repeat(READ_LIMIT),
    'more.md': 'x'.repeat(READ_LIMIT + 1),
  })
  expect(readForPrompt('most.md', { cwd })).toHaveProperty('bytes', 256 * 1024)
  expect(errorOf('more.md', { cwd })).toBe(
    'Cannot read more.md: it is 262145 bytes, over the limit of 262144 bytes.',
  )
  expect(errorOf('most.md', { cwd, limitBytes: 1000 })).toBe(
    'Cannot read most.md: it is 256 KiB, over the limit of 1000 bytes.',
  )
  expect(readForPrompt('more.md', { cwd, limitBytes: 1024 ** 2 }).ok).toBe(true)
})

test('a file that is larger than any memory is refused without being read', () => {
  const cwd = makeProject({ huge: '' })
  truncateSync(join(cwd, 'huge'), 4 * 1024 ** 4)
  expect(errorOf('huge', { cwd })).toBe(
    'Cannot read huge: it is 4194304 MiB, over the limit of 256 KiB.',
  )
})

test('an unusable file is refused with the reason', () => {
  const cwd = makeProject({
    'folder/file': '',
    'nul.bin': 'a\0b',
    'latin1.txt': Uint8Array.of(0x63, 0xe9, 0x20),
  })
  symlinkSync('circle', join(cwd, 'circle'))
  expect(errorOf('gone.md', { cwd })).toBe('File does not exist: gone.md')
  expect(errorOf('nul.bin/below', { cwd })).toBe('File does not exist: nul.bin/below')
  expect(errorOf('folder', { cwd })).toBe('Cannot read folder: it is a directory, expected a file.')
  expect(errorOf('.', { cwd })).toBe('Cannot read .: it is a directory, expected a file.')
  expect(errorOf('nul.bin', { cwd })).toBe('Cannot read nul.bin: it is a binary file.')
  expect(errorOf('latin1.txt', { cwd })).toBe('Cannot read latin1.txt: it is not UTF-8 text.')
  expect(errorOf('circle', { cwd })).toBe('Cannot read circle: it is in a symbolic link loop.')
  expect(errorOf('a\0b', { cwd })).toStartWith('Cannot read a b: it cannot be opened: ')
  expect(errorOf('x\n\u001b[2J', { cwd })).toBe('File does not exist: x [2J')
  expect(errorOf('x'.repeat(1_000_000), { cwd }).length).toBeLessThan(1000)
})

test('a file without read permission is refused', () => {
  const cwd = makeProject({ 'closed.md': 'secret' })
  const code = `
    import { chmodSync } from 'node:fs'
    import { readForPrompt } from ${JSON.stringify(join(import.meta.dir, 'read-files.ts'))}
    chmodSync('closed.md', 0)
    console.log(JSON.stringify(readForPrompt('closed.md', { cwd: process.cwd() })))`
  // Files without permissions are closed to root as well.
  const isRoot = process.getuid?.() === 0
  const closed = isRoot ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : []
  const { stdout } = Bun.spawnSync([...closed, process.execPath, '-e', code], { cwd })
  expect(JSON.parse(stdout.toString())).toEqual({
    ok: false,
    error: 'Cannot read closed.md: it is not readable by this user.',
  })
})

test('a pipe without a writer and an endless device do not block', () => {
  const cwd = makeProject()
  Bun.spawnSync(['mkfifo', join(cwd, 'pipe')])
  symlinkSync('/dev/zero', join(cwd, 'zero'))
  const regular = 'it is not a regular file.'
  expect(errorOf('pipe', { cwd })).toBe(`Cannot read pipe: ${regular}`)
  expect(errorOf('zero', { cwd })).toBe(`Cannot read zero: ${OUTSIDE}`)
  expect(errorOf('/dev/zero', { cwd, roots: ['/dev'] })).toBe(`Cannot read /dev/zero: ${regular}`)
})

test('no path leads outside the project', () => {
  const folder = makeProject({ 'project/a.md': 'a', 'project-2/b.md': 'b', 'secret.md': 's' })
  const cwd = join(folder, 'project')
  symlinkSync('/etc/passwd', join(cwd, 'passwd'))
  symlinkSync('/etc', join(cwd, 'etc'))
  symlinkSync('passwd', join(cwd, 'link-to-link'))
  symlinkSync('..', join(cwd, 'up'))
  const paths = ['passwd', 'etc/passwd', 'link-to-link', 'up/secret.md', '../secret.md']
  for (const path of [
    ...paths,
    '../project-2/b.md',
    '/etc/passwd',
    '..',
    '/',
    join(folder, 'secret.md'),
  ]) {
    expect(errorOf(path, { cwd })).toBe(`Cannot read ${path}: ${OUTSIDE}`)
  }
  expect(readForPrompt('up/project/a.md', { cwd })).toHaveProperty('text', 'a')
})

test('it does not reveal whether a file exists outside', () => {
  const cwd = makeProject()
  for (const path of ['/etc/passwd', '/etc/no-such-file', '../no-such-file']) {
    expect(errorOf(path, { cwd })).toBe(`Cannot read ${path}: ${OUTSIDE}`)
  }
})

test('additional roots may be folders, files and links, relative to the project', () => {
  const folder = makeProject({
    'project/a.md': '',
    'shared/b.md': 'b',
    'one.md': '1',
    'two.md': '2',
  })
  const cwd = join(folder, 'project')
  symlinkSync(join(folder, 'shared'), join(folder, 'also-shared'))
  const roots = [join(folder, 'also-shared'), '../one.md', '/no/such/root']
  const read = (path: string) => readForPrompt(path, { cwd, roots })
  expect(read('../shared/b.md')).toHaveProperty('text', 'b')
  expect(read(join(folder, 'also-shared/b.md'))).toHaveProperty('text', 'b')
  expect(read('../one.md')).toHaveProperty('text', '1')
  expect(read('../two.md').ok).toBe(false)
  expect(read('../shared/gone.md')).toHaveProperty(
    'error',
    'File does not exist: ../shared/gone.md',
  )
  expect(readForPrompt('/etc/passwd', { cwd, roots: ['/'] }).ok).toBe(true)
})

test('a project may be reached through a link', () => {
  const folder = makeProject({ 'real/a.md': 'a' })
  const cwd = join(folder, 'link')
  symlinkSync('real', cwd)
  expect(readForPrompt('a.md', { cwd })).toHaveProperty('text', 'a')
  expect(readForPrompt(join(cwd, 'a.md'), { cwd })).toHaveProperty('text', 'a')
  expect(readForPrompt(join(folder, 'real/a.md'), { cwd })).toHaveProperty('text', 'a')
  expect(errorOf(join(cwd, 'gone'), { cwd })).toBe(`File does not exist: ${join(cwd, 'gone')}`)
})

test('a folder that is replaced by a link to outside reveals nothing', async () => {
  const folder = makeProject({ 'project/d/file': 'inside', 'secret/file': 'secret' })
  const cwd = join(folder, 'project')
  symlinkSync(join(folder, 'secret'), join(cwd, 'link'))
  const swap = `
    import { renameSync } from 'node:fs'
    console.log('swapping')
    for (;;) {
      renameSync('d', 'kept')
      renameSync('link', 'd')
      renameSync('d', 'link')
      renameSync('kept', 'd')
    }`
  await using swapper = Bun.spawn([process.execPath, '-e', swap], { cwd, stdout: 'pipe' })
  await swapper.stdout.getReader().read()
  const seen = new Map<string, number>()
  for (let round = 0; round < 20_000; round++) {
    const answer = readForPrompt('d/file', { cwd })
    const words = answer.ok ? answer.text : answer.error
    seen.set(words, (seen.get(words) ?? 0) + 1)
  }
  swapper.kill('SIGKILL')
  await swapper.exited
  expect([...seen.keys()]).toContain('inside')
  expect([...seen.keys()]).not.toContain('secret')
})

test('no descriptor is left open', () => {
  const cwd = makeProject({ 'a.md': 'a', 'nul.bin': '\0' })
  mkdirSync(join(cwd, 'folder'))
  renameSync(join(cwd, 'a.md'), join(cwd, 'folder/a.md'))
  const open = () =>
    Bun.spawnSync(['ls', `/proc/${process.pid}/fd`])
      .stdout.toString()
      .split('\n').length
  const before = open()
  for (const path of ['folder', 'folder/a.md', 'nul.bin', 'gone', '/etc/passwd']) {
    for (let round = 0; round < 20; round++) readForPrompt(path, { cwd })
  }
  expect(open()).toBeLessThan(before + 20)
})

test('a prompt reads each file once, whatever path names it', () => {
  const cwd = makeProject({ 'a.md': 'a', 'b.md': 'a' })
  symlinkSync('a.md', join(cwd, 'link.md'))
  const read = makeReader({ cwd })
  expect(read('link.md')).toHaveProperty('text', 'a')
  for (const path of ['link.md', 'a.md', './a.md', `${cwd}/a.md`])
    expect(read(path)).toEqual({ as: 'link.md' })
  expect(read('b.md')).toHaveProperty('text', 'a')
  expect(read('gone')).toHaveProperty('ok', false)
  expect(read('./gone')).toEqual({ as: 'gone' })
})

test('the files of a prompt have a total limit', () => {
  const files = Object.fromEntries([1, 2, 3].map((name) => [name, 'x'.repeat(2_000_000)]))
  const cwd = makeProject({ ...files, small: 'y' })
  const read = makeReader({ cwd, limitBytes: 3_000_000 })
  for (const path of ['1', '2']) expect(read(path)).toHaveProperty('ok', true)
  expect(read('3')).toEqual({
    ok: false,
    error: 'Cannot read 3: the files of this prompt would exceed 4 MiB in total.',
  })
  // What fits is read all the same.
  expect(read('small')).toHaveProperty('text', 'y')
})

test('a configured limit for one file may exceed the total limit', () => {
  const cwd = makeProject({ long: 'x'.repeat(5_000_000) })
  expect(makeReader({ cwd, limitBytes: 6_000_000 })('long')).toHaveProperty('ok', true)
})
