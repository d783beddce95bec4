import { expect, test } from 'bun:test'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import * as fc from 'fast-check'
import { makeProject } from '../../../tests/support/project.ts'
import { readLines } from './event-lines.ts'

function read(content: string, start = 0, limit?: number) {
  const fd = openSync(join(makeProject({ file: content }), 'file'), 'r')
  try {
    return [...readLines(fd, start, limit)]
  } finally {
    closeSync(fd)
  }
}

test('lines have their offsets, and the last one needs no newline', () => {
  expect(read('one\n\ndrei é\nrest')).toEqual([
    { text: 'one', end: 4 },
    { text: '', end: 5 },
    { text: 'drei é', end: 13 },
    { text: 'rest', end: 17 },
  ])
  expect(read('')).toEqual([])
})

test('a range is read as if there were nothing else', () => {
  expect(read('one\ntwo\nthree\n', 4, 8).map(({ text }) => text)).toEqual(['two'])
  expect(read('one\ntwo\nthree\n', 4, 10).map(({ text }) => text)).toEqual(['two', 'th'])
  expect(read('one\n', 4)).toEqual([])
  expect(read('one\n', 100)).toEqual([])
})

test('lines of any length are read', () => {
  const length = fc.oneof(fc.integer({ min: 0, max: 50 }), fc.integer({ min: 0, max: 600_000 }))
  fc.assert(
    fc.property(fc.array(length, { maxLength: 12 }), fc.boolean(), (lengths, isEnded) => {
      const texts = lengths.map((size, at) => String(at % 10).repeat(size))
      const all = texts.join('\n') + (isEnded && texts.length > 0 ? '\n' : '')
      const isShown = isEnded || texts.at(-1) !== ''
      const expected = isShown ? texts : texts.slice(0, -1)
      const lines = read(all)
      expect(lines.map(({ text }) => text)).toEqual(expected)
      for (const { text, end } of lines) expect(all.slice(0, end).trimEnd()).toEndWith(text)
    }),
    { numRuns: 30 },
  )
})

test.each([-1, 0, 1])(
  'a line that ends at the edge of what is read at once (%i) is one line',
  (more) => {
    const long = 'x'.repeat(256 * 1024 + more)
    expect(read(`${long}\nend\n`).map(({ text }) => text)).toEqual([long, 'end'])
  },
)
