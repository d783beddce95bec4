import { UserError } from '../../base/errors.ts'

/** A title on one line; throws where nothing is left of it. */
export function checkTitle(title: string): string {
  const clean = title.trim().replaceAll(/\s+/g, ' ')
  if (clean === '')
    throw new UserError('The title is empty.', 'Say in a few words what is to be done.')
  if (clean.includes('\0')) throw new UserError('The title has a NUL character.')
  return clean
}

const DATE = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/

/** A day of the calendar, or a moment as ISO 8601 writes it; an empty text takes it away. */
export function checkDue(due: string): string {
  const day = DATE.exec(due)?.[1]
  if (due === '' || (day !== undefined && isDay(day) && !Number.isNaN(Date.parse(due)))) return due
  throw new UserError(`'${due}' is no date.`, 'Write e.g. 2026-01-31 or 2026-01-31T18:00:00Z.')
}

/** A clock goes on from the 30th of February to March. */
function isDay(day: string): boolean {
  const time = Date.parse(day)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
}

export function checkLabels(labels: readonly string[]): void {
  if (labels.every((label) => label.trim() !== '')) return
  throw new UserError('A label is empty.', 'Write e.g. backend.')
}

export function checkCriteria(criteria: readonly string[]): void {
  if (criteria.every((text) => text.trim() !== '')) return
  throw new UserError('An acceptance criterion is empty.', 'Say how one can see that it is met.')
}
