import { expect, test } from 'bun:test'
import { Screen } from './screen.ts'

const ESC = '\u001b'

test('only lines that changed are written, as one frame', () => {
  const screen = new Screen()
  expect(screen.draw(['a', 'b'])).toBe(
    `${ESC}[?2026h${ESC}[2J${ESC}[1;1H${ESC}[2Ka${ESC}[0m${ESC}[2;1H${ESC}[2Kb${ESC}[0m${ESC}[?2026l`,
  )
  expect(screen.draw(['a', 'b'])).toBe('')
  expect(screen.draw(['a', 'c'])).toBe(`${ESC}[?2026h${ESC}[2;1H${ESC}[2Kc${ESC}[0m${ESC}[?2026l`)
})

test('after somebody else wrote on it, or with fewer lines, it is cleared', () => {
  const screen = new Screen()
  screen.draw(['a', 'b'])
  screen.forget()
  expect(screen.draw(['a', 'b'])).toContain(`${ESC}[2J`)
  expect(screen.draw(['a'])).toContain(`${ESC}[2J`)
})
