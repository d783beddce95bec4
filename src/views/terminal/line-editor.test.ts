import { expect, test } from 'bun:test'
import { KeyParser } from './keys.ts'
import { atEnd, textOf, typeKey } from './line-editor.ts'

const [UP, DOWN, LEFT, RIGHT, HOME, END] = ['A', 'B', 'D', 'C', 'H', 'F'].map(
  (letter) => `\u001b[${letter}`,
)

const type = (keys: string) => new KeyParser().push(Buffer.from(keys)).reduce(typeKey, atEnd(''))

test.each([
  ['abc', 'abc|'],
  [`abc${LEFT}${LEFT}X`, 'aX|bc'],
  [`abc${HOME}X${END}Y`, 'XabcY|'],
  [`abc${HOME}\u001b[3~Y`, 'Y|bc'],
  ['ab\u007f\u007f\u007fc', 'c|'],
  ['a👩‍👩‍👧\u007fb', 'ab|'],
  [`e\u0301\u007f`, '|'],
  [`👨‍👩‍👧${LEFT}x${RIGHT}`, 'x👨‍👩‍👧|'],
  ['one two \u0017x', 'one x|'],
  [`one two${LEFT}\u0017`, 'one |o'],
  [`one two\u001bb\u001bbX\u001bf`, 'Xone| two'],
  [`one two\u001b[1;5DX`, 'one X|two'],
  [`one${LEFT}\u0015`, '|e'],
  [`one${LEFT}\u000b`, 'on|'],
  ['ab\u0001c\u0005d', 'cabd|'],
  ['a\u001b[5~b', 'ab|'],
  [`one\u001b\rtwo\u0015`, 'one\n|'],
  [`one\u001b\rtwo${UP}X`, 'oneX|\ntwo'],
  [`a\u001b\rtwo${UP}${DOWN}X`, 'a\ntX|wo'],
  [`\u001b[200~a\u0007b\r\nc\u001b[201~`, 'ab\nc|'],
])('%j makes %j', (keys, expected) => {
  const edit = type(keys)
  expect(`${edit.before}|${edit.after}`).toBe(expected)
  expect(textOf(edit)).toBe(expected.replace('|', ''))
})
