import { expect, test } from 'bun:test'
import { readMessages } from './reads.ts'

test('a file that a prompt hands over looks as the tool shows it, also with other line ends', () => {
  const [, , result] = readMessages(
    [{ path: 'a', ok: true, mtimeMs: 0, text: '\uFEFFone\r\ntwo\r\n' }],
    0,
  )
  expect(result).toMatchObject({
    text: '1\tone\n2\ttwo\n[lines end with CRLF; edit keeps that]',
  })
})
