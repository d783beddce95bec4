import { expect, test } from 'bun:test'
import { checkDisk, checkTerminal, describeFree } from './machine.ts'

const GIB = 1024 ** 3

test.each([
  [5.9 * GIB, 'ok', '5 GiB free'],
  [GIB, 'ok', '1 GiB free'],
  [GIB / 2, 'warning', 'only 512 MiB free'],
  [GIB / 16, 'problem', 'only 64 MiB free'],
  [0, 'problem', 'only 0 bytes free'],
] as const)('of %d bytes it says %s', (bytes, state, text) => {
  expect(describeFree(bytes)).toMatchObject({ state, text })
})

test('the free space of a folder is known, of a missing one it is not', () => {
  expect(checkDisk('/').text).toMatch(/free$/)
  expect(checkDisk('/no/such/folder').text).toContain('unknown')
})

test('a terminal is told by its kind and width', () => {
  expect(checkTerminal({ isTTY: true, columns: 80 }, 'xterm').text).toBe('xterm, 80 columns')
  expect(checkTerminal({}, 'xterm').text).toBe('none here; output passes byte for byte')
})
