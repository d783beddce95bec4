import { UserError } from './errors.ts'

interface Range {
  readonly least: number
  readonly most?: number
}

/** Parses a whole number that is written in digits only. */
export function readWhole(what: string, text: string, { least, most }: Range, hint?: string) {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : NaN
  if (number >= least && number <= (most ?? number)) return number
  const range = most === undefined ? `of at least ${least}` : `from ${least} to ${most}`
  throw new UserError(`${what} is ${JSON.stringify(text)}, expected a whole number ${range}.`, hint)
}
