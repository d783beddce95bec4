import { expect, test } from 'bun:test'
import { Fences } from './code-fences.ts'

/** What is open after each line: `-` nothing, `f` a fence, `l` one in a list. */
function follow(...lines: string[]): string {
  let ends = 0
  const fences = new Fences(() => (ends += 1))
  const states = lines.map((line) => {
    fences.take(line)
    return fences.isInList ? 'l' : fences.isOpen ? 'f' : '-'
  })
  return `${states.join('')} ${ends}`
}

test.each([
  ['a fence that is closed', ['```', 'x', '```', 'x'], 'ff-- 1'],
  ['a fence that is never closed', ['~~~', 'x'], 'ff 0'],
  ['the other kind inside', ['```', '~~~', '```'], 'ff- 1'],
  ['a shorter one inside', ['````', '```', '````'], 'ff- 1'],
  ['a span on one line', ['```x```'], '- 0'],
  ['two fences', ['```', '```', '~~~', '~~~'], 'f-f- 2'],
  ['a fence in a list item', ['- ```', '  x', '  ```'], 'll- 1'],
  ['a fence in a numbered item', ['12) ```', '    ```'], 'l- 1'],
  ['a fence in an item of an item', ['- 1. ```', '     ```'], 'l- 1'],
  ['a fence below the text of an item', ['- x', '    ```', '    ```'], '-l- 1'],
  ['a fence three columns deep, which needs no list', ['   ```', 'x', '```'], 'ff- 1'],
  ['a list that ends before its fence', ['- ```', 'x'], 'l- 1'],
  ['a list that ends with a new fence', ['- ```', '```', '```'], 'lf- 2'],
  ['a number of ten digits, which is not an item', ['1234567890. ```'], '- 0'],
  ['a sign without a space, which is not an item', ['-```'], '- 0'],
])('%s', (_, lines, states) => {
  expect(follow(...lines)).toBe(states)
})

test.each([[''], [' '], ['\t'], ['\r'], [' \t\r']])(
  'a blank line such as %j neither ends the list nor the fence',
  (blank) => {
    expect(follow(blank)).toBe('- 0')
    expect(follow('- ```', blank, '  x', blank, '  ```')).toBe('llll- 1')
    expect(follow('```', blank, '```')).toBe('ff- 1')
  },
)

test('a tab leads to the next multiple of four columns', () => {
  expect(follow('```', '\t```')).toBe('ff 0')
  expect(follow('-\t```', '\tx', '\t```')).toBe('ll- 1')
})

test('take returns whether a line is a fence', () => {
  const fences = new Fences()
  const lines = ['```js', 'x', '``', '``` x', '```', '']
  expect(lines.filter((line) => fences.take(line))).toEqual(['```js', '```'])
})
