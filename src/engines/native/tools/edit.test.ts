import { expect, test } from 'bun:test'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { callerIn, makeWorkspace } from '../../../../tests/support/workspace.ts'
import type { Edit } from './apply-edits.ts'

const CODE = 'function a() {\n\treturn 1\n}\n\nfunction b() {\n\treturn 1\n}\n'

const CHANGES: readonly (readonly [string, string, readonly Edit[], string, string])[] = [
  [
    'a single place',
    CODE,
    [{ old: 'b()', new: 'c()' }],
    CODE.replace('b()', 'c()'),
    '1 replacement, at line 5',
  ],
  [
    'all places',
    CODE,
    [{ old: 'return 1', new: 'return 2', replaceAll: true }],
    CODE.replaceAll('1', '2'),
    '2 replacements, at lines 2, 6',
  ],
  [
    'one edit after another',
    'a\n',
    [
      { old: 'a', new: 'b' },
      { old: 'b', new: 'c' },
    ],
    'c\n',
    '2 replacements, at line 1; line 1',
  ],
  [
    'a pattern of String.replace',
    'a\n',
    [{ old: 'a', new: '$& $1 $$' }],
    '$& $1 $$\n',
    '1 replacement, at line 1',
  ],
  ['to nothing', 'a\nb\n', [{ old: 'a\n', new: '' }], 'b\n', '1 replacement, at line 1'],
  [
    'CRLF',
    '\uFEFFa\r\nb\r\n',
    [{ old: 'a\nb', new: 'a\nx\nb' }],
    '\uFEFFa\r\nx\r\nb\r\n',
    '1 replacement, at line 1',
  ],
  [
    'one line of CRLF',
    'a\r\nb\r\n',
    [{ old: 'b', new: 'x\ny' }],
    'a\r\nx\r\ny\r\n',
    '1 replacement, at line 2',
  ],
  [
    'CRLF written as such',
    'a\r\nb\r\n',
    [{ old: 'a\r\nb', new: 'x\r\ny' }],
    'x\r\ny\r\n',
    '1 replacement, at line 1',
  ],
  [
    'mixed line ends, those of CRLF',
    'a\r\nb\nc\n',
    [{ old: 'a\nb', new: 'x\ny' }],
    'x\r\ny\nc\n',
    '1 replacement, at line 1',
  ],
  [
    'mixed line ends, those of LF',
    'a\r\nb\nc\n',
    [{ old: 'b\nc', new: 'x\ny' }],
    'a\r\nx\ny\n',
    '1 replacement, at line 2',
  ],
  [
    'a line end of CRLF as a whole',
    'a\r\nb\nc\n',
    [{ old: '\nb', new: '\nx' }],
    'a\r\nx\nc\n',
    '1 replacement, at line 1',
  ],
  [
    'overlaps',
    'aaaa',
    [{ old: 'aa', new: 'b', replaceAll: true }],
    'bb',
    '2 replacements, at line 1',
  ],
]

test.each(CHANGES)('%s is replaced', async (_, before, edits, after, summary) => {
  const workspace = makeWorkspace({ file: before })
  const answer = await callerIn(workspace)('edit', { path: 'file', edits })
  expect(answer.text).toBe(`Edited file: ${summary}.`)
  expect(readFileSync(join(workspace.cwd, 'file'), 'utf8')).toBe(after)
  expect(answer.diff).toStartWith('--- a/file\n+++ b/file\n@@ -')
})

test('bytes that are not UTF-8 are kept', async () => {
  const workspace = makeWorkspace({ file: Buffer.from('\xe9 a \xff\n', 'latin1') })
  await callerIn(workspace)('edit', { path: 'file', edits: [{ old: 'a', new: 'é' }] })
  const bytes = readFileSync(join(workspace.cwd, 'file'))
  expect(bytes.equals(Buffer.from('\xe9 \xc3\xa9 \xff\n', 'latin1'))).toBe(true)
})

const PROBLEMS: readonly (readonly [string, string, readonly Edit[], string])[] = [
  [
    'occurs twice',
    CODE,
    [{ old: 'return 1', new: 'x' }],
    'old occurs 2 times, at lines 2, 6; add surrounding text, or set replaceAll',
  ],
  [
    'overlaps itself',
    'aaa',
    [{ old: 'aa', new: 'x' }],
    'old occurs 2 times, at line 1; add surrounding text, or set replaceAll',
  ],
  [
    'occurs too often to count',
    'a'.repeat(200_000),
    [{ old: 'a'.repeat(5000), new: 'x' }],
    'old occurs more than 100 times, at line 1; add surrounding text, or set replaceAll',
  ],
  [
    'occurs many times',
    'a\n'.repeat(30),
    [{ old: 'a', new: 'x' }],
    'old occurs 30 times, at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more; add surrounding text, or set replaceAll',
  ],
  ['is missing', CODE, [{ old: 'zzz', new: 'x' }], 'old is not in the file; read it again'],
  [
    'is empty',
    CODE,
    [{ old: '', new: 'x' }],
    'old is empty; use write for new files, edit changes existing text',
  ],
  ['is the same', CODE, [{ old: 'b', new: 'b' }], 'old and new are the same'],
  [
    'differs in white space',
    CODE,
    [{ old: 'function b() {\n  return 1\n}', new: 'x' }],
    String.raw`old is not in the file: lines 5-7 differ only in white space or the kind of quotes and dashes. The file has "function b() {", "\treturn 1", "}"`,
  ],
  [
    'differs in quotes',
    'say(“hi”)\n',
    [{ old: 'say("hi")', new: 'x' }],
    'old is not in the file: line 1 differs only in white space or the kind of quotes and dashes. The file has "say(“hi”)"',
  ],
  [
    'has line numbers',
    CODE,
    [{ old: '5\tfunction b() {\n6\t\treturn 1', new: 'x' }],
    'old is not in the file: leave out the line numbers that read adds',
  ],
  [
    'is escaped twice',
    CODE,
    [{ old: String.raw`b() {\n\treturn`, new: 'x' }],
    'old is not in the file: it is escaped twice; write line breaks and quotes unescaped',
  ],
  [
    'differs in a later line',
    CODE,
    [{ old: 'function b() {\n\treturn 2\n}', new: 'x' }],
    String.raw`old is not in the file: it starts at line 5, but line 6 is "\treturn 1" where old has "\treturn 2"`,
  ],
  [
    'continues after the end of the file',
    'a\nb',
    [{ old: 'b\nc', new: 'x' }],
    'old is not in the file: it starts at line 2, but the file ends where old has "c"',
  ],
  [
    'is wrong in one of several edits',
    CODE,
    [
      { old: 'b()', new: 'c()' },
      { old: 'b()', new: 'd()' },
    ],
    'edits[1]: old is not in the file; read it again',
  ],
]

test.each(PROBLEMS)('nothing is changed if old %s', async (_, before, edits, problem) => {
  const workspace = makeWorkspace({ file: before })
  const answer = await callerIn(workspace)('edit', { path: 'file', edits })
  expect(answer).toEqual({ text: `Nothing was changed in file: ${problem}.`, isError: true })
  expect(readFileSync(join(workspace.cwd, 'file'), 'utf8')).toBe(before)
})

test('a file keeps its mode', async () => {
  const workspace = makeWorkspace({ 'run.sh': 'a\n' })
  chmodSync(join(workspace.cwd, 'run.sh'), 0o701)
  await callerIn(workspace)('edit', { path: 'run.sh', edits: [{ old: 'a', new: 'b' }] })
  expect(statSync(join(workspace.cwd, 'run.sh')).mode & 0o777).toBe(0o701)
})

const REFUSED: readonly (readonly [string, string])[] = [
  ['fil', 'File does not exist: fil; there is file in the same folder'],
  ['bin', 'Cannot edit bin: it is a binary file.'],
  ['folder', 'Cannot edit folder: it is a folder.'],
]

test.each(REFUSED)('%s cannot be edited', async (path, text) => {
  const call = callerIn(makeWorkspace({ file: 'a', bin: 'a\0', 'folder/x': '' }))
  const answer = await call('edit', { path, edits: [{ old: 'a', new: 'b' }] })
  expect(answer).toEqual({ text, isError: true })
})

test('after an edit, a file is known only if it was known completely before', async () => {
  const workspace = makeWorkspace({ known: 'a\n', unknown: 'a\n', changed: 'a\n' })
  const call = callerIn(workspace)
  const edits = [{ old: 'a', new: 'b' }]
  for (const path of ['known', 'changed']) await call('read', { path })
  writeFileSync(join(workspace.cwd, 'changed'), 'a\nmore\n')
  expect((await call('edit', { path: 'known', edits })).seen).toBeDefined()
  expect((await call('edit', { path: 'unknown', edits })).seen).toBeUndefined()
  expect(await call('edit', { path: 'changed', edits })).toMatchObject({
    text: 'Edited changed: 1 replacement, at line 1. The file has changed since you read it: read it again.',
  })
  const write = async (path: string) =>
    (await call('write', { path, content: 'x' })).isError === true
  expect([await write('known'), await write('unknown'), await write('changed')]).toEqual([
    false,
    true,
    true,
  ])
})
