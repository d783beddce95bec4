import { UserError } from './errors.ts'

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

const LONGEST_MS = 10 * 365 * 86_400_000

/** `90s`, `30m`, `2h`, `1h30m` in milliseconds. `where` names the value in messages. */
export function parseDuration(text: string, where: string): number {
  const parts = [...text.trim().matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)]
  const isWhole = parts.map(([all]) => all).join('') === text.trim()
  if (parts.length === 0 || !isWhole) {
    throw new UserError(
      `${where} is '${text}', expected a duration.`,
      'For example: 90s, 30m, 2h or 1h30m.',
    )
  }
  const sum = parts.reduce((total, [, number, unit]) => total + Number(number) * UNITS[unit!]!, 0)
  if (sum <= LONGEST_MS) return sum
  throw new UserError(`${where} is '${text}', longer than ten years.`)
}

/** Like `parseDuration`; a bare number means seconds. */
export function parseTimeout(text: string | number): number {
  return parseDuration(/^\d+(?:\.\d+)?$/.test(`${text}`) ? `${text}s` : `${text}`, 'timeout')
}

const [SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS] = [1000, 60_000, 3_600_000, 86_400_000]

/** `0.4 s`, `42 s`, `30 min`, `5 min 03 s`, `2 h 05 min`, `3 d 04 h`. */
export function formatDuration(ms: number): string {
  if (ms < 9950) return `${Number((ms / SECOND_MS).toFixed(1))} s`
  const whole = Math.round(ms / SECOND_MS) * SECOND_MS
  if (whole < MINUTE_MS) return `${whole / SECOND_MS} s`
  if (whole < HOUR_MS) return twoUnits(whole, MINUTE_MS, 'min', SECOND_MS, 's')
  if (whole < 2 * DAY_MS) return twoUnits(whole, HOUR_MS, 'h', MINUTE_MS, 'min')
  return twoUnits(whole, DAY_MS, 'd', HOUR_MS, 'h')
}

function twoUnits(ms: number, large: number, largeName: string, small: number, name: string) {
  const count = `${Math.floor(ms / large)} ${largeName}`
  const rest = Math.floor((ms % large) / small)
  return rest === 0 ? count : `${count} ${String(rest).padStart(2, '0')} ${name}`
}
