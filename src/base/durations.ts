import { UserError } from './errors.ts'

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

const LONGEST_MS = 10 * 365 * 86_400_000

/** `90s`, `30m`, `2h`, `1h30m` in milliseconds. `where` is what a message names. */
export function parseDuration(text: string, where: string): number {
  const parts = [...text.trim().matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)]
  const isWhole = parts.map(([all]) => all).join('') === text.trim()
  if (parts.length === 0 || !isWhole) {
    throw new UserError(
      `${where} is '${text}', expected a time.`,
      'Write e.g. 90s, 30m, 2h or 1h30m.',
    )
  }
  const sum = parts.reduce((total, [, number, unit]) => total + Number(number) * UNITS[unit!]!, 0)
  if (sum <= LONGEST_MS) return sum
  throw new UserError(`${where} is '${text}', longer than ten years.`)
}
