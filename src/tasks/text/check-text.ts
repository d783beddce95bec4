import { UserError } from '../../base/errors.ts'
import { oneLine } from '../../base/shorten.ts'

/** Puts a title on one line; throws if it is empty. */
export function checkTitle(title: string): string {
  const clean = oneLine(title)
  if (clean === '')
    throw new UserError('The title is empty.', 'Describe in a few words what to do.')
  if (clean.includes('\0')) throw new UserError('The title contains a NUL character.')
  return clean
}

const DATE = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?$/

/** Accepts a date or an ISO 8601 time; an empty string removes the value. */
export function checkDue(due: string): string {
  const day = DATE.exec(due)?.[1]
  if (due === '' || (day !== undefined && isDay(day) && !Number.isNaN(Date.parse(due)))) return due
  throw new UserError(
    `'${due}' is not a date.`,
    'Use a date such as 2026-01-31 or 2026-01-31T18:00:00Z.',
  )
}

/** `Date.parse` turns February 30 into March 2. */
function isDay(day: string): boolean {
  const time = Date.parse(day)
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(day)
}

export function checkLabels(labels: readonly string[]): void {
  if (labels.every((label) => label.trim() !== '')) return
  throw new UserError('A label is empty.', 'Use a name such as backend.')
}

export function checkCriteria(criteria: readonly string[]): void {
  if (criteria.every((text) => text.trim() !== '')) return
  throw new UserError('An acceptance criterion is empty.', 'Describe how to check that it is met.')
}
