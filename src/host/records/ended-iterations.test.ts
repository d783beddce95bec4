import { expect, test } from 'bun:test'
import { makeProject } from '../../../tests/support/project.ts'
import { readEndedIterations } from './ended-iterations.ts'

const ended = (iteration: number, more = {}) =>
  JSON.stringify({ type: 'iteration_ended', iteration, ...more })
const other = (length: number) => JSON.stringify({ type: 'message', text: 'x'.repeat(length) })

function read(...lines: string[]): number[] {
  const folder = makeProject({ 'events.ndjson': lines.join('\n') })
  return [...readEndedIterations(folder)].map(({ iteration }) => iteration)
}

test('only the ends of iterations are read', () => {
  expect(read(other(5), ended(1), '', other(9), ended(2), ended(3), '')).toEqual([1, 2, 3])
})

test('a torn last line and a spoilt one are passed over', () => {
  expect(read(ended(1), '{"type":"iteration_ended",oops}', ended(2), ended(3))).toEqual([1, 2])
  expect(read('{"type":"iteration_en')).toEqual([])
  expect(read('')).toEqual([])
})

test('a text that only looks like the end of an iteration is none', () => {
  expect(read(JSON.stringify({ type: 'message', text: ended(7) }), ended(1), '')).toEqual([1])
})

test('lines are found wherever the pieces end in which a file is read', () => {
  const piece = 256 * 1024
  const around = 40
  for (let length = piece - around; length < piece + around; length++) {
    const lines = [other(length - 30), ended(1), other(2 * piece), ended(2, { x: 'ü'.repeat(9) })]
    expect(read(...lines, ended(3), '')).toEqual([1, 2, 3])
  }
})

test('the end of an iteration may be longer than a piece', () => {
  const feedback = 'y'.repeat(700_000)
  expect(read(other(10), ended(1, { feedback }), other(10), ended(2), '')).toEqual([1, 2])
})
