import { expect, test } from 'bun:test'
import { BoardScreen } from './screen.ts'

const ESC = '\u001b'

test('only lines that changed are written, as one frame', () => {
  const screen = new BoardScreen()
  expect(screen.draw(['a', 'b'])).toBe(
    `${ESC}[?2026h${ESC}[2J${ESC}[1;1H${ESC}[2Ka${ESC}[0m${ESC}[2;1H${ESC}[2Kb${ESC}[0m${ESC}[?2026l`,
  )
  expect(screen.draw(['a', 'b'])).toBe('')
  expect(screen.draw(['a', 'c'])).toBe(`${ESC}[?2026h${ESC}[2;1H${ESC}[2Kc${ESC}[0m${ESC}[?2026l`)
})

test('it is cleared after foreign output or when lines disappear', () => {
  const screen = new BoardScreen()
  screen.draw(['a', 'b'])
  screen.forget()
  expect(screen.draw(['a', 'b'])).toContain(`${ESC}[2J`)
  expect(screen.draw(['a'])).toContain(`${ESC}[2J`)
})
