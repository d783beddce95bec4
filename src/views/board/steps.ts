import { own } from '../../base/objects.ts'
import type { Changes } from '../../tasks/text/changes.ts'
import type { Task } from '../../tasks/task.ts'
import type { Status } from '../../tasks/status.ts'
import { selectedCard, type Board } from './board.ts'
import type { Key } from '../terminal/keys.ts'

export type Effect =
  | { readonly type: 'edit'; readonly id: string; readonly changes: Changes; readonly done: string }
  | { readonly type: 'create'; readonly title: string }
  | { readonly type: 'open'; readonly id: string }
  | { readonly type: 'editor'; readonly file: string }
  | { readonly type: 'undo' }
  | { readonly type: 'suspend' }
  | { readonly type: 'quit' }

export interface Step {
  readonly board: Board
  readonly effects: readonly Effect[]
}

export function stepTo(board: Board): Step {
  return { board, effects: [] }
}

export function withMessage(board: Board, text: string, isError = false): Board {
  return { ...board, message: { text, isError } }
}

export function keyName(key: Key): string {
  return 'text' in key ? key.text : key.name
}

/** How far a key moves up or down. */
export function distanceOfKey(key: string, page: number): number | undefined {
  const distances: Readonly<Record<string, number>> = {
    up: -1,
    k: -1,
    down: 1,
    j: 1,
    'page-up': -page,
    'page-down': page,
    home: -Infinity,
    g: -Infinity,
    end: Infinity,
    G: Infinity,
  }
  return own(distances, key)
}

/** Runs `work` with the selected task, or says that there is none. */
export function withTask(board: Board, work: (task: Task) => Step): Step {
  const card = selectedCard(board)
  if (card !== undefined) return work(card.task)
  const open = board.open?.brief.task.id
  return stepTo(
    withMessage(board, open === undefined ? 'No task is selected.' : `${open} is archived.`),
  )
}

/** Asks before a change of status ends the claim of another owner. */
export function changeStatus(board: Board, id: string, status: Status): Step {
  const card = board.snapshot.cards.find(({ task }) => task.id === id)
  if (card?.owner === undefined || card.task.status === status) return setStatus(board, id, status)
  return stepTo({ ...board, prompt: { kind: 'take', id, status, owner: card.owner } })
}

export function setStatus(board: Board, id: string, status: Status): Step {
  const done = `${id} is ${status}.`
  const card = board.snapshot.cards.find(({ task }) => task.id === id)
  // Removes an assignee set by the claim, but not one set by a person.
  const isGivenBack = status === 'To Do' && card?.holder !== undefined
  const isTaker = isGivenBack && card.holder === card.task.assignee
  const changes: Changes = isTaker ? { status, assignee: '' } : { status }
  return { board, effects: [{ type: 'edit', id, changes, done }] }
}
