import { UserError } from '../../base/errors.ts'

const LONGEST_NAME = 100
const NAME = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}._-]*$/u
const HINT = "Use letters, digits, '-', '_' and '.', with a letter or digit first and last."

/**
 * A task's name, or a `UserError`. It stands in lists with commas and becomes part of paths and
 * branches: no spaces, no slashes, no `..`.
 */
export function checkTaskName(name: string): string {
  if (name === '') throw new UserError('The name of the task is empty.', HINT)
  if (name.length > LONGEST_NAME) {
    throw new UserError(
      `The name of the task has ${name.length} characters, at most ${LONGEST_NAME} are allowed.`,
    )
  }
  if (name === 'main') {
    throw new UserError(
      "'main' is the name of the agent that the run begins with.",
      'Take another.',
    )
  }
  const isName = NAME.test(name) && !name.includes('..') && !/[._-]$/.test(name)
  if (!isName) throw new UserError(`${JSON.stringify(name)} is no name for a task.`, HINT)
  return name
}
