import { UserError } from '../../base/errors.ts'

/** A title on one line; throws where nothing is left of it. */
export function checkTitle(title: string): string {
  const clean = title.trim().replaceAll(/\s+/g, ' ')
  if (clean === '')
    throw new UserError('The title is empty.', 'Say in a few words what is to be done.')
  if (clean.includes('\0')) throw new UserError('The title has a NUL character.')
  return clean
}

/** A day, or a moment; an empty text takes it away. */
export function checkDue(due: string): string {
  if (due === '' || !Number.isNaN(Date.parse(due))) return due
  throw new UserError(`'${due}' is no date.`, 'Write e.g. 2026-01-31.')
}

export function checkCriteria(criteria: readonly string[]): void {
  if (criteria.every((text) => text.trim() !== '')) return
  throw new UserError('An acceptance criterion is empty.', 'Say how one can see that it is met.')
}
