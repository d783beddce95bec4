import { formatDuration } from '../../base/durations.ts'
import { statOf } from '../../base/files.ts'
import { printable } from '../../base/terminal/printable.ts'
import { ok, problem, warning, type Check } from './check.ts'

/** Before that there was nothing that could have been started here. */
const EARLIEST = Date.UTC(2026, 0)
const LATEST = Date.UTC(2100, 0)
/** File systems and other machines may count a little differently. */
const TOLERANCE_MS = 2 * 60_000
const SET_IT = 'Set the clock: logins and waits until a reset depend on it.'

/** Whether the time can be right: files that are known to be older must not be newer. */
export function checkClock(now: number, files: readonly string[], zone: string | undefined): Check {
  const words = new Date(now).toISOString().slice(0, 16).replace('T', ' ')
  if (now < EARLIEST || now > LATEST) return problem('clock', `says ${words} UTC`, SET_IT)
  const newest = files
    .map((path) => ({ path, at: statOf(path)?.mtimeMs ?? 0 }))
    .reduce((one, other) => (other.at > one.at ? other : one), { path: '', at: 0 })
  if (newest.at > now + TOLERANCE_MS) {
    const late = formatDuration(newest.at - now)
    const text = `says ${words} UTC, but ${printable(newest.path)} was changed ${late} later`
    return warning('clock', text, SET_IT)
  }
  const known = Intl.DateTimeFormat().resolvedOptions().timeZone
  if (zone !== undefined && zone !== '' && !isZone(zone)) {
    const text = `TZ is '${printable(zone)}', which is not a time zone; using ${known}`
    return warning('clock', text, 'Set TZ to a name like Europe/Vilnius, or unset it.')
  }
  return ok('clock', `${words} UTC, time zone ${known}`)
}

function isZone(name: string): boolean {
  try {
    Intl.DateTimeFormat('en', { timeZone: name.replace(/^:/, '') })
    return true
  } catch {
    return false
  }
}
