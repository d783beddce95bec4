import { expect, test } from 'bun:test'
import { readMessages } from './reads.ts'

test('a file from the prompt looks as the read tool shows it', () => {
  const [, , result] = readMessages(
    [{ path: 'a', ok: true, mtimeMs: 0, text: '\uFEFFone\r\ntwo\r\n' }],
    0,
    { cwd: '/' },
  )
  expect(result).toMatchObject({
    text: '1\tone\n2\ttwo\n[lines end with CRLF; edit keeps that]',
  })
})
