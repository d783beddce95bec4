import { expect, test } from 'bun:test'
import { checkDisk, describeFreeSpace } from './folders.ts'

const GIB = 1024 ** 3

test.each([
  [5.9 * GIB, Infinity, 'ok', '5 GiB free'],
  [GIB, 10_000, 'ok', '1 GiB free'],
  [GIB / 2, Infinity, 'warning', 'only 512 MiB free'],
  [GIB / 16, Infinity, 'problem', 'only 64 MiB free'],
  [0, Infinity, 'problem', 'only 0 bytes free'],
  [GIB, 9999, 'warning', 'only 1024 MiB and 9999 files free'],
  [GIB, 999, 'problem', 'only 1024 MiB and 999 files free'],
  [GIB / 16, 9999, 'problem', 'only 64 MiB and 9999 files free'],
] as const)('%d bytes and %d files free: %s', (bytes, files, state, text) => {
  expect(describeFreeSpace(bytes, files)).toEqual({ state, text })
})

test('folders of one disk are reported together, even if they do not exist yet', () => {
  const folders = [
    { what: 'project', path: import.meta.dir },
    { what: 'records', path: `${import.meta.dir}/no/such/folder` },
  ]
  expect(checkDisk(folders).text).toMatch(/^[^\n]+ free for project, records$/)
})
