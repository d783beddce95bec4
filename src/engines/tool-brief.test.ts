import { expect, test } from 'bun:test'
import { toolBrief } from './tool-brief.ts'

const KEY = 'Zq7-tR"9/xW+2LmN'

test.each([
  [{ command: ' npm\n test ', description: 'x' }, 'npm test'],
  [{ file_path: 'src/a.ts', content: 'x' }, 'src/a.ts'],
  [{ command: '', todos: [1] }, '{"command":"","todos":[1]}'],
  [{}, ''],
  [null, ''],
  ['text', ''],
])('%j is shown as %j', (input, brief) => {
  expect(toolBrief(input)).toBe(brief)
})

test('a long text is cut between words, so no part of a key remains', () => {
  for (let before = 170; before < 210; before += 1) {
    const command = `curl ${'x'.repeat(before)} ${KEY} ${'y'.repeat(100)}`
    expect(toolBrief({ command }).replace(KEY, '')).toMatch(/^curl(?: x+)?(?: )?…$/)
  }
})
