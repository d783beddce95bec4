import { UserError } from '../base/errors.ts'

/** `TASK-001`; leading zeros do not matter. */
export interface TaskId {
  readonly prefix: string
  readonly number: number
}

const WRITTEN = /^([A-Za-z][A-Za-z0-9_]*)-0*(\d{1,9})$/
const PADDING = 3

/** Ids have at most nine digits. */
export const HIGHEST_NUMBER = 999_999_999

export function readId(text: string): TaskId | undefined {
  const match = WRITTEN.exec(text.trim())
  return match === null ? undefined : { prefix: match[1]!.toUpperCase(), number: Number(match[2]) }
}

/** Parses what people type: `TASK-1`, `task-001` or `1`. */
export function parseId(word: string, prefix: string): TaskId {
  const id = /^\d{1,9}$/.test(word) ? { prefix, number: Number(word) } : readId(word)
  if (id !== undefined) return id
  throw new UserError(
    `'${word}' is not a task id.`,
    `Use an id such as ${renderId({ prefix, number: 1 })} or 1.`,
  )
}

export function renderId({ prefix, number }: TaskId): string {
  return `${prefix}-${String(number).padStart(PADDING, '0')}`
}

/** `task-1` as `TASK-001`; undefined if the text is not an id. */
export function canonicalId(text: string): string | undefined {
  const id = readId(text)
  return id && renderId(id)
}

/** The canonical form of an id; other text is only trimmed. */
export function normalId(text: string): string {
  return canonicalId(text) ?? text.trim()
}
