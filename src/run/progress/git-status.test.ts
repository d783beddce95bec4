import { expect, test } from 'bun:test'
import { parseGitStatus } from './git-status.ts'

const OID = 'a'.repeat(40)

test.each<[string, string, boolean]>([
  [`1 .M N... 100644 100644 100644 ${OID} ${OID} a b S.txt`, 'a b S.txt', false],
  [`1 .M S.M. 160000 160000 160000 ${OID} ${OID} part`, 'part', true],
  [`u UU N... 100644 100644 100644 100644 ${OID} ${OID} ${OID} in conflict`, 'in conflict', false],
  ['? new file', 'new file', false],
  ['? my Some', 'my Some', false],
  ['? inner/', 'inner', true],
  ['? 1 .M N... x', '1 .M N... x', false],
])('%s', (line, path, isRepository) => {
  const said = ['# branch.oid (initial)', '# stash 3', line, ''].join('\0')
  expect(parseGitStatus(Buffer.from(said))).toEqual({
    head: undefined,
    entries: [{ path: Buffer.from(path), isRepository }],
  })
})

test('a path that is listed twice counts once', () => {
  const said = [`1 D. N... 100644 000000 000000 ${OID} ${OID} a`, '? a', ''].join('\0')
  expect(parseGitStatus(Buffer.from(`# branch.oid ${OID}\0${said}`))).toEqual({
    head: OID,
    entries: [{ path: Buffer.from('a'), isRepository: false }],
  })
})
