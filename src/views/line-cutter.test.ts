import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { LineCutter } from './line-cutter.ts'

const LIMIT = 2000
const note = (dropped: number) => `\u001b[0m … ${dropped} bytes more (-v shows all)`

function cut(...chunks: readonly string[]): string {
  const cutter = new LineCutter()
  return chunks.map((chunk) => cutter.cut(chunk)).join('')
}

test.each([
  ['nothing', ''],
  ['short lines', 'one\ntwo\r\n\nthree'],
  ['a line of exactly the limit', `${'x'.repeat(LIMIT)}\n`],
  ['many lines, together far longer', `${'x'.repeat(1500)}\n`.repeat(20)],
])('%s passes unchanged', (_, text) => {
  expect(cut(text)).toBe(text)
})

test('a line that is too long is cut and says how much is missing', () => {
  const text = `before\n${'x'.repeat(LIMIT + 1)}\nafter\n${'y'.repeat(10_000)}\nend`
  expect(cut(text)).toBe(
    `before\n${'x'.repeat(LIMIT)}${note(1)}\nafter\n${'y'.repeat(LIMIT)}${note(8000)}\nend`,
  )
})

test('a line in many pieces is cut', () => {
  const pieces = Array.from({ length: 50 }, () => 'x'.repeat(100))
  expect(cut(...pieces, '\nnext\n')).toBe(`${'x'.repeat(LIMIT)}${note(3000)}\nnext\n`)
})

test('a line that begins inside a piece is measured from its start', () => {
  const [half, rest] = ['x'.repeat(1500), 'x'.repeat(1000)]
  expect(cut(`short\n${half}`, `${rest}\n`)).toBe(`short\n${'x'.repeat(LIMIT)}${note(500)}\n`)
})

test('a character is not cut in two, and what is missing is counted in bytes', () => {
  const head = 'x'.repeat(LIMIT - 1)
  expect(cut(`${head}👍tail\n`)).toBe(`${head}${note(8)}\n`)
  expect(cut(`${head}éé\n`)).toBe(`${head}é${note(2)}\n`)
})

/** The same without any cleverness. */
function naive(text: string): string {
  return text
    .split('\n')
    .map((line, index, all) => {
      const [body, back] = line.endsWith('\r') ? [line.slice(0, -1), '\r'] : [line, '']
      const dropped = body.length - LIMIT
      if (dropped <= 0) return line
      return body.slice(0, LIMIT) + (index === all.length - 1 ? '' : note(dropped)) + back
    })
    .join('\n')
}

test('lines are cut at the same place, whatever the chunks are', () => {
  const piece = fc.oneof(
    fc.stringMatching(/^[ -~]{0,20}$/),
    fc.constantFrom('\n', '\r\n', '\n\n', 'x'.repeat(1999), 'y'.repeat(700), 'z'.repeat(5000)),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const text = pieces.join('')
      expect(cut(...pieces)).toBe(naive(text))
      expect(cut(text)).toBe(naive(text))
    }),
    { numRuns: 500 },
  )
})

test('a carriage return starts the line over, so that progress displays work', () => {
  const frame = `${'='.repeat(1500)}\r`
  expect(cut(frame, frame, frame, 'DONE\n')).toBe(`${frame.repeat(3)}DONE\n`)
  const long = 'x'.repeat(LIMIT)
  expect(cut(`${long}lost\rDONE\n`)).toBe(`${long}\rDONE\n`)
})
