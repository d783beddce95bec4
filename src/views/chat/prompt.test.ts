import { expect, test } from 'bun:test'
import { makePaint } from '../terminal/columns.ts'
import { KeyParser } from '../terminal/keys.ts'
import { atEnd, textOf } from '../terminal/line-editor.ts'
import { makeInputHistory } from './history.ts'
import { pressKey, type Prompt, type Action } from './prompt.ts'
import { promptRows } from './rows.ts'

const [UP, DOWN] = ['\u001b[A', '\u001b[B']

function type(keys: string, past: readonly string[] = []) {
  let prompt: Prompt = { edit: atEnd(''), past: makeInputHistory(past) }
  const actions: Action[] = []
  for (const key of new KeyParser().push(Buffer.from(keys))) {
    const pressed = pressKey(prompt, key)
    prompt = pressed.prompt
    if (pressed.action !== undefined) actions.push(pressed.action)
  }
  const { before, after } = prompt.edit
  return { text: `${before}|${after}`, actions, prompt }
}

test('a backslash at the end of a line continues it', () => {
  expect(type('a\\\rb').text).toBe('a\nb|')
})

test.each<[string, readonly Action[]]>([
  ['hi\r', [{ type: 'say', text: 'hi' }]],
  ['  \r', []],
  ['a\\\r\r', [{ type: 'say', text: 'a\n' }]],
  ['\u0004', [{ type: 'end' }]],
  ['x\u0004', []],
  ['x\u0003', [{ type: 'interrupt' }]],
  ['\u001a\u000c', [{ type: 'suspend' }, { type: 'clear' }]],
])('%j requests %j', (keys, actions) => {
  expect(type(keys).actions).toEqual([...actions])
})

test('the history can be browsed without losing the draft', () => {
  const past = ['one', 'two\nlines']
  expect(type(`draft${UP}`, past).text).toBe('two\nlines|')
  expect(type(`draft${UP}${UP}${UP}${UP}`, past).text).toBe('one|')
  expect(type(`draft${UP}${DOWN}`, past).text).toBe('draft|')
  expect(type(`new\r${UP}`, past).text).toBe('new|')
  expect(type('same\rsame\r', past).prompt.past.entries).toEqual([...past, 'same'])
})

test('rows fit the terminal, and the cursor is at the end of the text', () => {
  const paint = makePaint(false)
  for (const text of [
    '',
    'x',
    'a longer text that has to be broken',
    '漢字漢字漢字漢字',
    'a\nb\n',
  ]) {
    for (let width = 5; width < 30; width += 1) {
      const { rows, cursor } = promptRows(atEnd(text), width, 100, paint)
      expect(rows.every((row) => Bun.stringWidth(row) < width)).toBe(true)
      expect(cursor.row).toBe(rows.length - 1)
      expect(cursor.column).toBe(Bun.stringWidth(rows.at(-1)!))
      expect(rows.map((row) => row.slice(2)).join('')).toBe(text.replaceAll('\n', ''))
    }
  }
})

test('of a text with more rows than the terminal, the part around the cursor is shown', () => {
  const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`).join('\n')
  const { rows, cursor } = promptRows(atEnd(lines), 20, 3, makePaint(false))
  expect(rows.map((row) => row.trim())).toEqual(['line 17', 'line 18', 'line 19'])
  expect(cursor.row).toBe(2)
  const up = promptRows({ before: '', after: lines }, 20, 3, makePaint(false))
  expect(up.rows.map((row) => row.slice(2))).toEqual(['line 0', 'line 1', 'line 2'])
  expect(up.cursor).toEqual({ row: 0, column: 2 })
  expect(textOf(atEnd(lines))).toBe(lines)
})
