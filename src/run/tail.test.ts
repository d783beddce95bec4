import { expect, test } from 'bun:test'
import { Tail } from './tail.ts'

const KEY = 'Zq7-tR"9/xW+2LmN'

function tailOf(text: string, size = 1 << 20): string {
  const tail = new Tail()
  const bytes = Buffer.from(text)
  for (let from = 0; from < bytes.length; from += size) tail.add(bytes.subarray(from, from + size))
  return tail.text
}

test('a short output is kept as it is, without colours and signs', () => {
  expect(tailOf('\u001b[31mred\u001b[0m\r\n  two\u0000\n\n')).toBe('red\n  two')
})

test.each([1, 7, 4000, 1 << 20])('of a long one whole lines are kept, in chunks of %d', (size) => {
  const text = Array.from({ length: 2000 }, (_, index) => `line ${index}`).join('\n')
  const kept = tailOf(text, size)
  expect(text).toEndWith(`\n${kept}`)
  expect(kept.length).toBeWithin(3980, 4001)
})

test('of one long line whole words are kept, so that no part of a key is left', () => {
  for (let behind = 3970; behind < 4000; behind += 1) {
    for (const end of ['', '\n']) {
      const kept = tailOf(`${'x'.repeat(100)} ${KEY} ${'y '.repeat(behind / 2)}${end}`)
      expect(kept.replace(KEY, '')).toMatch(/^[y ]+$/)
      expect(kept.length).toBeGreaterThan(3900)
    }
  }
})

test('of one long word nothing is kept, nor of a private key without its beginning', () => {
  expect(tailOf('x'.repeat(5000))).toBe('…')
  const key = `-----BEGIN PRIVATE KEY-----\n${'MIIEpAIB\n'.repeat(1000)}-----END PRIVATE KEY-----\n`
  expect(tailOf(`${key}red\n`)).toBe('-----END PRIVATE KEY-----\nred')
})
