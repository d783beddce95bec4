import { firstCharacter, withoutLast } from '../../base/terminal/graphemes.ts'
import type { Key } from '../../base/terminal/keys.ts'
import { cut, safe, type Paint } from '../../base/terminal/columns.ts'

/** A line of text; the cursor is between `before` and `after`. */
export interface LineInput {
  readonly before: string
  readonly after: string
}

/** The most code units that a grapheme is expected to have. */
const LONGEST = 64

export function textOf({ before, after }: LineInput): string {
  return before + after
}

/** Returns the same object if the key does nothing. */
export function typeKey(line: LineInput, key: Key): LineInput {
  const { before, after } = line
  switch (key.name) {
    case 'text':
    case 'paste':
      return { before: before + pasteable('text' in key ? key.text : ''), after }
    case 'backspace':
      return { before: withoutLast(before), after }
    case 'delete':
      return { before, after: after.slice(firstCharacter(after).length) }
    case 'left':
      return {
        before: withoutLast(before),
        after: before.slice(withoutLast(before).length) + after,
      }
    case 'right':
      return {
        before: before + firstCharacter(after),
        after: after.slice(firstCharacter(after).length),
      }
    case 'home':
    case 'ctrl-a':
      return { before: '', after: before + after }
    case 'end':
    case 'ctrl-e':
      return { before: before + after, after: '' }
    case 'ctrl-u':
      return { before: '', after }
    case 'ctrl-w':
      return { before: before.replace(/\S*\s*$/, ''), after }
    default:
      return line
  }
}

/** Joins pasted lines. */
function pasteable(text: string): string {
  return safe(text.replaceAll(/\s+/g, ' '))
}

/** The part of the line around the cursor that fits. */
export function renderLine(line: LineInput, width: number, paint: Paint): string {
  const under = firstCharacter(line.after)
  const cursor = under === '' ? ' ' : safe(under)
  const room = Math.max(0, width - Bun.stringWidth(cursor))
  let before = safe(line.before.slice(-LONGEST * (room + 1)))
  while (Bun.stringWidth(before) > room) before = before.slice(firstCharacter(before).length)
  const rest = Math.max(0, room - Bun.stringWidth(before))
  const after = line.after.slice(under.length, under.length + LONGEST * (rest + 1))
  return before + paint.reverse(cursor) + cut(safe(after), rest)
}
