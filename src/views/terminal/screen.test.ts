import { expect, test } from 'bun:test'
import { Screen } from './screen.ts'

const ESC = '\u001b'
const frame = (text: string) => `${ESC}[?2026h${text}${ESC}[?2026l`
const rows = (...lines: string[]) => ({ rows: lines, cursor: { row: 0, column: 0 } })

test('only rows that changed are written, as one frame', () => {
  const screen = new Screen()
  expect(screen.draw(rows('a', 'b'), 9)).toBe(
    frame(`\r${ESC}[0Ja${ESC}[0m\r\nb${ESC}[0m\r${ESC}[1A`),
  )
  expect(screen.draw(rows('a', 'b'), 9)).toBe('')
  expect(screen.draw(rows('a', 'c'), 9)).toBe(frame(`\r\r\n${ESC}[2Kc${ESC}[0m\r${ESC}[1A`))
})

test('everything is drawn again if rows disappear, the width changes or lines are inserted', () => {
  const screen = new Screen()
  screen.draw(rows('a', 'b'), 9)
  expect(screen.draw(rows('a'), 9)).toContain(`${ESC}[0Ja`)
  expect(screen.draw(rows('a'), 8)).toContain(`${ESC}[0Ja`)
  expect(screen.draw(rows('a'), 8, ['x'])).toContain(`${ESC}[0Jx${ESC}[0m\r\na`)
  expect(screen.wipe()).toBe(`${ESC}[2J${ESC}[H`)
  expect(screen.draw(rows('a'), 8)).toContain(`${ESC}[0Ja`)
})
