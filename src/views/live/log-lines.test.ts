import { expect, test } from 'bun:test'
import { LogLines } from './log-lines.ts'

const textsOf = (lines: LogLines) =>
  Array.from({ length: lines.end - lines.first }, (_, index) => lines.at(lines.first + index)!.text)

test('lines may arrive in pieces, also within a character', () => {
  const lines = new LogLines()
  const bytes = Buffer.from('one\ntwo ü\nthree')
  for (const byte of bytes) lines.bytes(Uint8Array.of(byte))
  expect(textsOf(lines)).toEqual(['one', 'two ü', 'three'])
  lines.add({ text: 'own', kind: 'own' })
  lines.bytes(Buffer.from('four\n'))
  expect(textsOf(lines)).toEqual(['one', 'two ü', 'three', 'own', 'four'])
})

test('a long line is cut, and the oldest lines are dropped', () => {
  const lines = new LogLines()
  lines.bytes(Buffer.from(`${'x'.repeat(9000)}${'y'.repeat(9000)}\n`))
  expect(lines.at(0)!.text).toBe(`${'x'.repeat(4000)}…`)
  for (let number = 1; number <= 100_000; number++) lines.bytes(Buffer.from(`line ${number}\n`))
  expect(lines.end).toBe(100_001)
  expect(lines.end - lines.first).toBeLessThanOrEqual(20_000)
  expect(lines.at(lines.first)!.text).toBe(`line ${lines.first}`)
  expect(lines.at(0)).toBeUndefined()
})

test('a search goes both ways; failures are failed tools and lines that say so', () => {
  const lines = new LogLines()
  lines.bytes(Buffer.from('ok\nError: no file\n0 failed, 3 passed\nBu\u001b[31mild\u001b[0m\n'))
  lines.add({ text: 'gate ok: npm run error', kind: 'own' })
  lines.add({ text: '[Bash] failed', kind: 'failure' })
  expect(lines.find('BUILD', 0, 1)).toBe(3)
  expect(lines.find('o', 2, -1)).toBe(1)
  expect(lines.find('nothing', 0, 1)).toBeUndefined()
  expect(lines.find(undefined, 0, 1)).toBe(1)
  expect(lines.find(undefined, 2, 1)).toBe(5)
})
