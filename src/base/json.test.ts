import { expect, test } from 'bun:test'
import { parseJson } from './json.ts'

const DEEP = 3_000_000

test.each([
  ['arrays', '['.repeat(DEEP) + ']'.repeat(DEEP)],
  ['objects', '{"a":'.repeat(DEEP) + '1' + '}'.repeat(DEEP)],
  ['arrays beside others', `{"a":[1,{"b":${'['.repeat(1000) + ']'.repeat(1000)}}]}`],
  ['one level too many', '['.repeat(1001) + ']'.repeat(1001)],
])('JSON of deeply nested %s is refused', (_, text) => {
  expect(() => parseJson(text)).toThrow('nested more than 1000 levels deep')
})

test.each([
  ['the deepest that is allowed', '['.repeat(1000) + ']'.repeat(1000)],
  ['a long list', `[${'{"a":[]},'.repeat(5000)}1]`],
  ['brackets in a text', JSON.stringify('['.repeat(5000))],
  ['a number', '7'],
  ['null', 'null'],
])('JSON is read: %s', (_, text) => {
  expect(parseJson(text)).toEqual(JSON.parse(text))
})

test('text that is not JSON is refused as by JSON.parse', () => {
  expect(() => parseJson('[1,')).toThrow(SyntaxError)
})
