import { unreachable } from '../../base/errors.ts'
import { PRIORITIES, STATUSES, type Priority } from '../../tasks/status.ts'
import { clamp, layoutOf, showCards, type Board, type BoardPrompt } from './board.ts'
import { HELP } from './render.ts'
import { safe } from '../terminal/columns.ts'
import type { Key } from '../terminal/keys.ts'
import { textOf, typeKey } from '../terminal/line-editor.ts'
import {
  changeStatus,
  distanceOfKey,
  keyName,
  withMessage,
  setStatus,
  stepTo,
  type Step,
} from './steps.ts'

export function answerPrompt(board: Board, prompt: BoardPrompt, key: Key): Step {
  const closed = { ...board, prompt: undefined }
  switch (prompt.kind) {
    case 'help':
      return scrollHelp(board, prompt.top, keyName(key))
    case 'status': {
      const status = STATUSES.find((each) => isFirstLetterOf(key, each.toLowerCase()))
      return status === undefined ? stepTo(closed) : changeStatus(closed, prompt.id, status)
    }
    case 'take': {
      if (keyName(key).toLowerCase() === 'y') return setStatus(closed, prompt.id, prompt.status)
      return stepTo(withMessage(closed, `${prompt.id} stays with ${prompt.owner}.`))
    }
    case 'priority': {
      const priorities = [...PRIORITIES, 'none'] as const
      const priority = priorities.find((each) => isFirstLetterOf(key, each))
      return priority === undefined ? stepTo(closed) : setPriority(closed, prompt.id, priority)
    }
    default:
      return typeLine(board, prompt, key)
  }
}

function isFirstLetterOf(key: Key, word: string): boolean {
  return key.name === 'text' && word.startsWith(key.text)
}

function scrollHelp(board: Board, top: number, key: string): Step {
  const { pageHeight } = layoutOf(board.size)
  const by = distanceOfKey(key, pageHeight)
  if (by === undefined) return stepTo({ ...board, prompt: undefined })
  const next = clamp(top + by, HELP.length - pageHeight)
  return stepTo({ ...board, prompt: { kind: 'help', top: next } })
}

type LinePrompt = Extract<BoardPrompt, { readonly line: unknown }>

function typeLine(board: Board, prompt: LinePrompt, key: Key): Step {
  const closed = { ...board, prompt: undefined }
  if (key.name === 'escape') {
    return stepTo(prompt.kind === 'filter' ? showCards(closed, { filter: '' }) : closed)
  }
  if (key.name === 'enter' || key.name === 'alt-enter') return finishLine(closed, prompt)
  const line = typeKey(prompt.line, onOneLine(key))
  const typed = { ...board, prompt: { ...prompt, line } }
  return stepTo(prompt.kind === 'filter' ? showCards(typed, { filter: textOf(line) }) : typed)
}

/** Joins pasted lines. */
function onOneLine(key: Key): Key {
  return 'text' in key ? { ...key, text: safe(key.text.replaceAll(/\s+/g, ' ')) } : key
}

function finishLine(board: Board, prompt: LinePrompt): Step {
  const text = textOf(prompt.line).trim()
  switch (prompt.kind) {
    case 'filter':
      return stepTo(board)
    case 'assign':
      return assign(board, prompt.id, text)
    case 'create':
      if (text === '') return stepTo(withMessage(board, 'A task needs a title.'))
      return { board, effects: [{ type: 'create', title: text }] }
    default:
      return unreachable(prompt)
  }
}

function setPriority(board: Board, id: string, priority: Priority | 'none'): Step {
  const words = priority === 'none' ? 'no priority' : `the priority ${priority}`
  const done = `${id} has ${words}.`
  return { board, effects: [{ type: 'edit', id, changes: { priority }, done }] }
}

function assign(board: Board, id: string, name: string): Step {
  const done = name === '' ? `${id} has no assignee.` : `${id} is assigned to ${name}.`
  return { board, effects: [{ type: 'edit', id, changes: { assignee: name }, done }] }
}
