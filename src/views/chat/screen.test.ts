import { expect, test } from 'bun:test'
import { wrapLine } from '../terminal/columns.ts'
import { AnswerRows } from './screen.ts'

test.each([
  ['alpha beta gamma', 11, ['alpha beta', 'gamma']],
  ['abcdefghij', 4, ['abcd', 'efgh', 'ij']],
  ['  indented words here', 12, ['  indented', 'words here']],
  ['漢字漢字', 5, ['漢字', '漢字']],
  ['👨‍👩‍👧👨‍👩‍👧', 2, ['👨‍👩‍👧', '👨‍👩‍👧']],
  ['', 10, ['']],
])('%j in %i columns', (line, width, rows) => {
  expect(wrapLine(line, width)).toEqual(rows)
})

test('however an answer is cut into pieces, its rows are the same', () => {
  const text = 'One two three four.\n\n- a list\n- of things that are long\n\tcode\u001b[31m\r\nend'
  const whole = rowsOf([text])
  for (const size of [1, 2, 3, 7]) {
    const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? []
    expect(rowsOf(pieces)).toEqual(whole)
  }
  expect(whole.every((row) => Bun.stringWidth(row) < 16)).toBe(true)
  expect(whole.join('')).not.toContain('\u001b')
})

function rowsOf(pieces: readonly string[]): string[] {
  const answer = new AnswerRows()
  return [...pieces.flatMap((piece) => answer.push(piece, 16)), ...answer.end()]
}

test('between two answers there is no unfinished row', () => {
  const answer = new AnswerRows()
  expect(answer.tail).toBeUndefined()
  expect(answer.push('Hel', 20)).toEqual([])
  expect(answer.tail).toBe('Hel')
  expect(answer.end()).toEqual(['Hel'])
  expect(answer.tail).toBeUndefined()
})
