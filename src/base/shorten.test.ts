import { expect, test } from 'bun:test'
import { shorten } from './shorten.ts'

const KEY = 'Zq7-tR"9/xW+2LmN'

test.each([
  ['one two three', 13, 'one two three'],
  ['one two three', 12, 'one two…'],
  ['one two three', 8, 'one two…'],
  ['one two three', 7, 'one…'],
  ['one   two', 5, 'one…'],
  ['one\ntwo', 6, 'one…'],
  ['🎉🎉 🎉🎉', 7, '🎉🎉…'],
  ['word', 3, '…'],
  ['', 3, ''],
])('%j is shortened to %d characters: %j', (text, length, shown) => {
  expect(shorten(text, length)).toBe(shown)
})

test('a secret in a shortened text is kept whole or dropped whole', () => {
  const text = `git push ${KEY} --force\nand ${KEY}\n`
  for (let length = 0; length <= text.length; length += 1) {
    expect(shorten(text, length).replaceAll(KEY, '')).not.toMatch(/Zq7|tR"|xW|2L|mN/)
    expect(shorten(text, length).length).toBeLessThanOrEqual(Math.max(length, 1))
  }
})
