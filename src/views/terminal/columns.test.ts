import { expect, test } from 'bun:test'
import { cut, fit, safe, wrap } from './columns.ts'

test.each([
  ['short', 10, 'short     '],
  ['exactly', 7, 'exactly'],
  ['too long', 5, 'too …'],
  ['漢字漢字', 8, '漢字漢字'],
  ['漢字漢字', 7, '漢字漢…'],
  ['漢字漢字', 6, '漢字… '],
  ['漢字漢字', 2, '… '],
  ['漢字', 1, '…'],
  ['a👩‍👩‍👧b', 3, 'a… '],
  ['a👩‍👩‍👧b', 4, 'a👩‍👩‍👧b'],
  ['anything', 0, ''],
])('%j in %i columns is %j', (text, width, expected) => {
  expect(fit(text, width)).toBe(expected)
})

test('a text of any length and any width of characters takes exactly its columns', () => {
  for (const text of [
    '漢'.repeat(5000),
    '👩‍👩‍👧'.repeat(900),
    'x'.repeat(1e6),
    'é\u0301\u0301'.repeat(9),
  ]) {
    for (let width = 0; width < 40; width++) {
      expect(Bun.stringWidth(fit(text, width))).toBe(width)
      expect(Bun.stringWidth(cut(text, width))).toBeLessThanOrEqual(width)
    }
  }
})

test('nothing that moves a cursor is safe', () => {
  const controls = Array.from({ length: 32 }, (_, code) => String.fromCodePoint(code)).join('')
  expect(safe(`${controls}\u007f\u0085\u009b\u202e\u2066\u2028`)).toMatch(/^[? ]+$/)
  expect(safe('漢字 👩‍👩‍👧 é')).toBe('漢字 👩‍👩‍👧 é')
  expect(safe('half \ud83d')).toBe('half \ufffd')
})

test('lines are broken at words, and long words anywhere', () => {
  expect(wrap('one two three\r\n\nabcdefghijkl', 8)).toEqual([
    'one two',
    'three',
    '',
    'abcdefgh',
    'ijkl',
  ])
  for (const width of [1, 2, 3, 7]) {
    for (const line of wrap('漢字 wide 👩‍👩‍👧 mixed\ttext', width)) {
      expect(Bun.stringWidth(line)).toBeLessThanOrEqual(Math.max(2, width))
    }
  }
})
