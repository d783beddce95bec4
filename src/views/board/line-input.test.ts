import { expect, test } from 'bun:test'
import { KeyParser } from '../../base/terminal/keys.ts'
import { renderLine, textOf, typeKey, type LineInput } from './line-input.ts'
import { makePaint } from '../../base/terminal/columns.ts'

function type(text: string, start: LineInput = { before: '', after: '' }): LineInput {
  return new KeyParser().push(Buffer.from(text)).reduce(typeKey, start)
}

test.each([
  ['abc', 'abc|'],
  ['abc\u001b[D\u001b[DX', 'aX|bc'],
  ['abc\u001b[H\u001b[3~Y', 'Y|bc'],
  ['ab\u007f\u007f\u007fc', 'c|'],
  ['a👩‍👩‍👧\u007fb', 'ab|'],
  ['one two \u0017x', 'one x|'],
  ['one\u001b[D\u0015', '|e'],
  ['ab\u0001c\u0005d', 'cabd|'],
  ['\u001b[200~a\n\tb\u001b[2Jc\u001b[201~', 'a b?[2Jc|'],
  ['a\u001b[5~b', 'ab|'],
])('%j makes %j', (keys, expected) => {
  const line = type(keys)
  expect(`${line.before}|${line.after}`).toBe(expected)
  expect(textOf(line)).toBe(expected.replace('|', ''))
})

test('the cursor is always visible', () => {
  const paint = makePaint(false)
  const show = (line: LineInput, width: number) =>
    renderLine(line, width, paint).replace('\u001b[7m', '[').replace('\u001b[27m', ']')
  expect(show(type('abcdefgh'), 5)).toBe('efgh[ ]')
  expect(show(type('abcdefgh\u001b[H'), 5)).toBe('[a]bcd…')
  expect(show(type('漢字漢'), 4)).toBe('漢[ ]')
  expect(show(type('abc'), 0)).toBe('[ ]')
  expect(show({ before: '\u001b[2J', after: '\u0007\u009b' }, 10)).toBe('?[2J[?]?')
})

test('pasting a megabyte is fast', () => {
  const began = performance.now()
  const line = type(`\u001b[200~${'word '.repeat(200_000)}\u001b[201~\u007f\u007f\u001b[D`)
  expect(renderLine(line, 40, makePaint(false))).toContain('word word')
  expect(performance.now() - began).toBeLessThan(2000)
})
