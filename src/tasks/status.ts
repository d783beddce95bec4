import { UserError } from '../base/errors.ts'
import { didYouMean } from '../base/nearest.ts'

export const STATUSES = ['To Do', 'In Progress', 'Blocked', 'Done'] as const
export type Status = (typeof STATUSES)[number]

export const PRIORITIES = ['high', 'medium', 'low'] as const
export type Priority = (typeof PRIORITIES)[number]

/** Ignores case, spaces and dashes: `todo`, `to-do`, `TO DO`. */
export function findStatus(word: string): Status | undefined {
  return STATUSES.find((status) => lettersIn(status) === lettersIn(word))
}

export function findPriority(word: string): Priority | undefined {
  return PRIORITIES.find((priority) => priority === word.trim().toLowerCase())
}

export function parseStatus(word: string): Status {
  const found = findStatus(word)
  if (found !== undefined) return found
  const words = ['todo', 'in-progress', 'blocked', 'done']
  throw new UserError(
    `Unknown status '${word}'${didYouMean(word, words) || '.'}`,
    `Use one of: ${words.join(', ')}.`,
  )
}

export function readStatus(word: string | undefined): Status | undefined {
  return word === undefined ? undefined : parseStatus(word)
}

function parsePriority(word: string): Priority {
  const found = findPriority(word)
  if (found !== undefined) return found
  throw new UserError(
    `Unknown priority '${word}'${didYouMean(word, PRIORITIES) || '.'}`,
    `Use one of: ${PRIORITIES.join(', ')}, none.`,
  )
}

export function readPriority(word: string | undefined): Priority | 'none' | undefined {
  if (word === undefined) return undefined
  return word.trim().toLowerCase() === 'none' ? 'none' : parsePriority(word)
}

function lettersIn(word: string): string {
  return word.toLowerCase().replaceAll(/[\s_-]/g, '')
}
