import { expect, test } from 'bun:test'
import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../../../tests/support/project.ts'
import { callerIn, makeWorkspace } from '../../../../tests/support/workspace.ts'

const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => `${from + at}\tline ${from + at}`).join('\n')
const lines = (count: number) =>
  Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join('')

const PAGES: readonly (readonly [string, string | Uint8Array, object, string])[] = [
  ['a text', 'a\n\tb\n', {}, '1\ta\n2\t\tb'],
  ['a last line without an end', 'a\nb', {}, '1\ta\n2\tb'],
  ['empty lines', '\n\n', {}, '1\t\n2\t'],
  ['an empty file', '', {}, '[the file is empty]'],
  ['a byte order mark', '\uFEFFa\n', {}, '1\ta'],
  ['CRLF', 'a\r\nb\r\n', {}, '1\ta\n2\tb\n[lines end with CRLF; edit keeps that]'],
  ['characters of other scripts', 'é 日本 🙂\n', {}, '1\té 日本 🙂'],
  ['a character that is the replacement itself', '�\n', {}, '1\t�'],
  [
    'other bytes',
    Buffer.from('a\xe9b\n', 'latin1'),
    {},
    '1\ta�b\n[not valid UTF-8: � replaces other bytes]',
  ],
  ['as many lines as are allowed', lines(2000), {}, numbered(1, 2000)],
  [
    'more lines than are allowed',
    lines(2001),
    {},
    `${numbered(1, 2000)}\n[lines 1-2000 of 2001; continue with offset 2001]`,
  ],
  [
    'a range',
    lines(9),
    { offset: 4, limit: 3 },
    `${numbered(4, 6)}\n[lines 4-6 of 9; continue with offset 7]`,
  ],
  ['a range to the end', lines(9), { offset: 8, limit: 30 }, numbered(8, 9)],
  [
    'a long line',
    `${'é'.repeat(1500)}\nb\n`,
    {},
    `1\t${'é'.repeat(1000)}… [cut: the line has 3000 bytes]\n2\tb`,
  ],
  [
    'a key that the cut goes through',
    `key ${'sk-1'.repeat(1000)}\n`,
    {},
    '1\tkey … [cut: the line has 4004 bytes]',
  ],
  [
    'a long line that is cut within a character',
    `x${'日'.repeat(1500)}`,
    {},
    `1\tx${'日'.repeat(666)}… [cut: the line has 4501 bytes]`,
  ],
]

test.each(PAGES)('%s is shown with line numbers', async (_, content, range, text) => {
  const answer = await callerIn(makeWorkspace({ file: content }))('read', {
    path: 'file',
    ...range,
  })
  expect(answer.text).toBe(text)
  expect(answer.isError).toBeUndefined()
  expect(answer.seen?.path).toEndWith('/file')
})

test('a page that is too long is cut, with the offset to continue', async () => {
  const call = callerIn(makeWorkspace({ file: `${'x'.repeat(1000)}\n`.repeat(100) }))
  const { text } = await call('read', { path: 'file' })
  expect(text).toEndWith('\n[lines 1-65 of 100; continue with offset 66]')
  expect((await call('read', { path: 'file', offset: 66 })).text).toStartWith('66\txxx')
})

function makeFixtures() {
  const elsewhere = makeProject({ secret: 'x' })
  const workspace = makeWorkspace({
    'notes.md': 'x',
    'image.png': Buffer.from('\x89PNG\r\n\x1a\n\0\0', 'latin1'),
    'photo.jpg': Buffer.from('\xff\xd8\xff\xe0 no NUL', 'latin1'),
    'utf16.txt': Buffer.from('\xff\xfea\0b\0', 'latin1'),
    'data.bin': 'ab\0cd',
    'short.txt': 'a\nb\n',
  })
  const { cwd } = workspace
  Bun.spawnSync(['mkfifo', join(cwd, 'fifo')])
  symlinkSync(elsewhere, join(cwd, 'out'))
  symlinkSync('/dev/zero', join(cwd, 'zero'))
  symlinkSync('circle', join(cwd, 'circle'))
  return workspace
}

const REFUSED: readonly (readonly [string, object, string])[] = [
  ['image.png', {}, 'Cannot read image.png: it is a PNG image (10 bytes).'],
  ['photo.jpg', {}, 'Cannot read photo.jpg: it is a JPEG image (11 bytes).'],
  [
    'utf16.txt',
    {},
    'Cannot read utf16.txt: it is UTF-16 text, which `iconv -f UTF-16 -t UTF-8` turns into readable text (6 bytes).',
  ],
  ['data.bin', {}, 'Cannot read data.bin: it is a binary file (5 bytes).'],
  ['short.txt', { offset: 3 }, 'Cannot read short.txt: it has only 2 lines.'],
  ['note.md', {}, 'File does not exist: note.md; there is notes.md in the same folder'],
  ['zzzzzz', {}, 'File does not exist: zzzzzz'],
  ['no/such/file', {}, 'File does not exist: no/such/file; its folder does not exist either'],
  ['short.txt/x', {}, 'File does not exist: short.txt/x; its folder does not exist either'],
  ['a\nb\u001b[31m', {}, 'File does not exist: a b [31m'],
  ['fifo', {}, 'Cannot read fifo: it is not a regular file.'],
  ['circle', {}, 'Cannot read circle: it is in a symbolic link loop.'],
]

test.each(REFUSED)('%s %j cannot be read', async (path, range, text) => {
  const answer = await callerIn(makeFixtures())('read', { path, ...range })
  expect(answer).toEqual({ text, isError: true })
})

test.each(['../x', '/etc/passwd', 'out/secret', 'out/none', 'zero', 'a/../../x', '/'])(
  '%s is outside, and the answer does not reveal whether it exists',
  async (path) => {
    const workspace = makeFixtures()
    const answer = await callerIn(workspace)('read', { path })
    const text = `Cannot read ${path}: it is outside ${workspace.cwd}.`
    expect(answer).toEqual({ text, isError: true })
  },
)

test('a name that is too long is answered with an error', async () => {
  const answer = await callerIn(makeWorkspace())('read', { path: 'x'.repeat(5000) })
  expect(answer.isError).toBe(true)
  expect(answer.text).toContain('cannot be opened')
  expect(answer.text.length).toBeLessThan(800)
})

test('missing permissions are reported', () => {
  const { cwd } = makeWorkspace({ 'closed.txt': 'x', 'folder/read-only.txt': 'x' })
  chmodSync(join(cwd, 'closed.txt'), 0)
  chmodSync(join(cwd, 'folder/read-only.txt'), 0o444)
  chmodSync(join(cwd, 'folder'), 0o555)
  expect(
    callsWithoutRoot(cwd, [
      ['read', { path: 'closed.txt' }],
      ['write', { path: 'folder/read-only.txt', content: 'y' }],
      ['write', { path: 'folder/new.txt', content: 'y' }],
      ['write', { path: 'folder/new/deep.txt', content: 'y' }],
      ['edit', { path: 'folder/read-only.txt', edits: [{ old: 'x', new: 'y' }] }],
    ]),
  ).toEqual([
    'Cannot read closed.txt: it is not readable by this user.',
    'Cannot write folder/read-only.txt: no permission to write to it.',
    'Cannot write folder/new.txt: no permission to write there.',
    'Cannot write folder/new/deep.txt: no permission to write there.',
    'Cannot edit folder/read-only.txt: no permission to write to it.',
  ])
})

/** In a process to which files without permissions are closed even where it is root's. */
function callsWithoutRoot(cwd: string, calls: readonly (readonly [string, object])[]): string[] {
  const support = join(import.meta.dir, '../../../../tests/support/workspace.ts')
  const code = `
    import { callerIn } from ${JSON.stringify(support)}
    const call = callerIn({ cwd: process.cwd(), roots: [] })
    for (const [tool, input] of ${JSON.stringify(calls)}) {
      console.log(JSON.stringify((await call(tool, input)).text))
    }`
  const isRoot = process.getuid?.() === 0
  const closed = isRoot ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : []
  const { stdout } = Bun.spawnSync([...closed, process.execPath, '-e', code], { cwd })
  return stdout
    .toString()
    .trim()
    .split('\n')
    .map((line) => String(JSON.parse(line)))
}

test('a root outside the project can be read', async () => {
  const root = makeProject({ a: 'x' })
  const call = callerIn(makeWorkspace({}, [root]))
  expect((await call('read', { path: join(root, 'a') })).text).toBe('1\tx')
})

test('a folder is listed', async () => {
  const workspace = makeWorkspace({ 'b.ts': '', 'a/x.ts': '', 'new\nline': '' })
  const call = callerIn(workspace)
  const text = '. is a folder with 3 entries:\na/\nb.ts\nnew line'
  expect(await call('read', { path: '.' })).toEqual({ text })
  mkdirSync(join(workspace.cwd, 'empty'))
  expect((await call('read', { path: 'empty' })).text).toBe('empty is a folder with 0 entries.')
  for (let n = 0; n < 205; n++) writeFileSync(join(workspace.cwd, 'empty', `f${n}`), '')
  const many = await call('read', { path: 'empty' })
  expect(many.text).toStartWith('empty is a folder with 205 entries:\nf0\n')
  expect(many.text).toEndWith('\n[5 more; use glob to find them]')
})

test('lines of a 1 GB file are read in little memory, without blocking', async () => {
  const workspace = makeWorkspace({ huge: `first\nsecond\n${'x'.repeat(9000)}\n` })
  truncateSync(join(workspace.cwd, 'huge'), 1024 ** 3)
  const before = process.memoryUsage.rss()
  let ticks = 0
  const timer = setInterval(() => (ticks += 1), 1)
  const call = callerIn(workspace)
  const answer = await call('read', { path: 'huge', limit: 2 })
  expect(answer).toEqual({ text: '1\tfirst\n2\tsecond\n[lines 1-2; continue with offset 3]' })
  const beyond = await call('read', { path: 'huge', offset: 5 })
  expect(beyond.text).toBe('Cannot read huge: it has only 4 lines.')
  clearInterval(timer)
  expect(ticks).toBeGreaterThan(10)
  // A part of the file, because nobody knows when memory is collected.
  expect(process.memoryUsage.rss() - before).toBeLessThan(512 * 1024 ** 2)
})

test('reading can be stopped', async () => {
  const workspace = makeWorkspace({ huge: `${'x'.repeat(9000)}\n` })
  truncateSync(join(workspace.cwd, 'huge'), 1024 ** 3)
  const answer = callerIn(workspace)('read', { path: 'huge', offset: 9 }, AbortSignal.abort())
  expect(await answer).toEqual({ text: 'Stopped.', isError: true })
})
