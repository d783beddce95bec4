import { characters } from './columns.ts'
import type { Key } from './keys.ts'

/** Text being edited, with the cursor between `before` and `after`. */
export interface EditedText {
  readonly before: string
  readonly after: string
}

/** A text with the cursor at its end. */
export function atEnd(text: string): EditedText {
  return { before: text, after: '' }
}

export function textOf({ before, after }: EditedText): string {
  return before + after
}

/** Applies a key; returns the same object if the key does nothing. */
export function typeKey(edit: EditedText, key: Key): EditedText {
  const { before, after } = edit
  switch (key.name) {
    case 'text':
    case 'paste':
      return { before: before + typeable('text' in key ? key.text : ''), after }
    case 'alt-enter':
      return { before: `${before}\n`, after }
    case 'backspace':
      return { before: withoutLast(before), after }
    case 'delete':
    case 'ctrl-d':
      return { before, after: after.slice(firstCharacter(after).length) }
    case 'left':
    case 'ctrl-b':
      return moveTo(edit, withoutLast(before).length)
    case 'right':
    case 'ctrl-f':
      return moveTo(edit, before.length + firstCharacter(after).length)
    case 'word-left':
      return moveTo(edit, before.replace(/\S*\s*$/, '').length)
    case 'word-right':
      return moveTo(edit, before.length + /^\s*\S*/.exec(after)![0].length)
    case 'home':
    case 'ctrl-a':
      return moveTo(edit, lineStart(before))
    case 'end':
    case 'ctrl-e':
      return moveTo(edit, before.length + lineEnd(after))
    case 'up':
    case 'ctrl-p':
      return moveLine(edit, -1)
    case 'down':
    case 'ctrl-n':
      return moveLine(edit, 1)
    case 'ctrl-u':
      return { before: before.slice(0, lineStart(before)), after }
    case 'ctrl-k':
      return { before, after: after.slice(lineEnd(after)) }
    case 'ctrl-w':
      return { before: before.replace(/\S*\s*$/, ''), after }
    default:
      return edit
  }
}

/** Whether there is a line above (-1) or below (1) the cursor. */
export function hasLine({ before, after }: EditedText, direction: -1 | 1): boolean {
  return (direction === -1 ? before : after).includes('\n')
}

function lineStart(before: string): number {
  return before.lastIndexOf('\n') + 1
}

function lineEnd(after: string): number {
  const end = after.indexOf('\n')
  return end === -1 ? after.length : end
}

function moveTo(edit: EditedText, at: number): EditedText {
  const text = textOf(edit)
  return { before: text.slice(0, at), after: text.slice(at) }
}

/** Moves to the same column of another line, or to the end of a shorter one. */
function moveLine(edit: EditedText, direction: -1 | 1): EditedText {
  if (!hasLine(edit, direction)) return edit
  const { before, after } = edit
  const start = lineStart(before)
  const place = before.length - start
  if (direction === -1) {
    const above = lineStart(before.slice(0, start - 1))
    return moveTo(edit, Math.min(above + place, start - 1))
  }
  const below = before.length + lineEnd(after) + 1
  const length = lineEnd(textOf(edit).slice(below))
  return moveTo(edit, below + Math.min(place, length))
}

/** Drops control characters except line breaks and tabs. */
function typeable(text: string): string {
  return text
    .replaceAll(/\r\n?/g, '\n')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .toWellFormed()
}

/** Longer than any character, so that only part of a long text is segmented. */
const LONGEST = 64

/** The first character of a text, as people count characters. */
export function firstCharacter(text: string): string {
  return characters(text.slice(0, LONGEST))[0] ?? ''
}

function withoutLast(text: string): string {
  const last = characters(text.slice(-LONGEST)).at(-1) ?? ''
  return text.slice(0, text.length - last.length)
}
