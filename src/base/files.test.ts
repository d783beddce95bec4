import { expect, test } from 'bun:test'
import { symlinkSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../../tests/support/project.ts'
import { formatBytes, readTextFile } from './files.ts'

const LIMIT = 1000

test.each([
  ['nothing', ''],
  ['many lines', 'one\ntwo\r\nthree'],
  ['characters of two, three and four bytes', 'é 日本 👍'],
  ['exactly as many bytes as are allowed', 'x'.repeat(LIMIT)],
])('a file with %s is read unchanged', (_, text) => {
  const folder = makeProject({ file: text })
  expect(readTextFile(join(folder, 'file'), LIMIT)).toEqual({ kind: 'text', text })
})

test.each([['no-such-file'], ['file/below'], ['no/such/folder/file']])('%s is missing', (path) => {
  const folder = makeProject({ file: '' })
  expect(readTextFile(join(folder, path), LIMIT)).toEqual({ kind: 'missing' })
})

test('a broken link is not read', () => {
  const folder = makeProject()
  symlinkSync(join(folder, 'gone'), join(folder, 'dangling'))
  symlinkSync(join(folder, 'circle'), join(folder, 'circle'))
  expect(readTextFile(join(folder, 'dangling'), LIMIT)).toEqual({ kind: 'missing' })
  expect(readTextFile(join(folder, 'circle'), LIMIT)).toEqual({
    kind: 'unusable',
    problem: 'is in a symbolic link loop',
  })
})

test('a file that is not readable text says why', () => {
  const folder = makeProject({
    'latin1.txt': Uint8Array.of(0x63, 0xe9, 0x20),
    'cut.txt': Uint8Array.of(0xe6, 0x97),
    'long.txt': 'x'.repeat(LIMIT + 1),
    'below/file': '',
  })
  const problem = (path: string) => {
    const file = readTextFile(join(folder, path), LIMIT)
    return file.kind === 'unusable' ? file.problem : file.kind
  }
  expect(problem('latin1.txt')).toBe('is not UTF-8 text')
  expect(problem('cut.txt')).toBe('is not UTF-8 text')
  expect(problem('long.txt')).toBe('is 1001 bytes, over the limit of 1000 bytes')
  expect(problem('below')).toBe('is a directory, expected a file')
  expect(problem('x'.repeat(300))).toStartWith('cannot be opened: ENAMETOOLONG')
})

test('a device is refused, and a pipe without a writer does not block', () => {
  const folder = makeProject()
  Bun.spawnSync(['mkfifo', join(folder, 'pipe')])
  for (const path of ['/dev/null', '/dev/zero', join(folder, 'pipe')]) {
    expect(readTextFile(path, LIMIT)).toEqual({
      kind: 'unusable',
      problem: 'is not a regular file',
    })
  }
})

test('a huge file is refused by its size, without being read', () => {
  const folder = makeProject({ huge: '' })
  truncateSync(join(folder, 'huge'), 3 * 1024 ** 3)
  expect(readTextFile(join(folder, 'huge'), 16 * 1024 ** 2)).toEqual({
    kind: 'unusable',
    problem: 'is 3072 MiB, over the limit of 16 MiB',
  })
})

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [1023, '1023 bytes'],
  [1024, '1 KiB'],
  [1536, '1.5 KiB'],
  [100 * 1024, '100 KiB'],
  [1024 ** 2, '1 MiB'],
  [2.5 * 1024 ** 2, '2.5 MiB'],
])('%d bytes are written as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text)
})
