import { UserError } from './errors.ts'

interface Range {
  readonly least: number
  readonly most?: number
}

/** Whether a program's report of costs or counts can be added up: finite, not negative, and in range. */
export function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER
}

/** Parses a whole number that is written in digits only. */
export function readWhole(what: string, text: string, { least, most }: Range, hint?: string) {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN
  if (number >= least && number <= (most ?? number)) return number
  const range = most === undefined ? `of at least ${least}` : `from ${least} to ${most}`
  throw new UserError(`${what} is ${JSON.stringify(text)}, expected a whole number ${range}.`, hint)
}
