import { formatDuration } from '../../base/durations.ts'
import { statOf } from '../../base/files.ts'
import { printable } from '../../base/terminal/printable.ts'
import { ok, problem, warning, type Check, type CheckContext } from './check.ts'

type Variables = Readonly<Record<string, string | undefined>>

/** `claude` refuses to skip permissions as root unless IS_SANDBOX is set. */
export function checkSandbox({ facts, needsClaude }: CheckContext, uid: number | undefined): Check {
  if (!facts.mustAsk) return ok('user', uid === 0 ? 'root, in a sandbox' : 'not root')
  const report = needsClaude ? problem : warning
  return report(
    'user',
    'root without IS_SANDBOX=1: claude refuses to work unattended',
    'Use another user, or set IS_SANDBOX=1 in a disposable container.',
  )
}

/** Warns if another coding CLI has started this process. */
export function checkNesting({ env }: CheckContext, outer: Variables): Check[] {
  const names = Object.keys(outer).filter(
    (name) => outer[name] !== undefined && env[name] === undefined && !name.startsWith('BUN_'),
  )
  if (names.length === 0) return []
  const text = `inside another coding CLI; agents do not get its ${names.join(', ')}`
  const next = 'A run ends with the CLI that started it; start long runs in a separate terminal.'
  return [warning('nesting', text, next)]
}

/** Checks the terminal, and whether a run would survive when it closes. */
export function checkTerminal(
  screen: { readonly isTTY?: boolean; readonly columns?: number },
  env: Variables,
  isHangupIgnored: boolean,
): Check {
  const keeper = isHangupIgnored ? 'under nohup' : whatKeepsAlive(env)
  if (screen.isTTY !== true) {
    const where = keeper === undefined ? '' : `, ${keeper}`
    return ok('terminal', `none${where}; output is passed through unchanged`)
  }
  const kind = `${env['TERM'] || 'unknown kind'}, ${screen.columns ?? '?'} columns`
  const locale = env['LC_ALL'] || env['LC_CTYPE'] || env['LANG'] || 'C'
  if (keeper === undefined && (env['SSH_CONNECTION'] || env['SSH_TTY'])) {
    const text = `${kind}, over ssh: a run ends with the connection`
    return warning('terminal', text, 'Start the run in tmux, or with nohup.')
  }
  if (!/utf-?8/i.test(locale)) {
    const text = `${kind}, but the locale is not UTF-8`
    return warning('terminal', text, 'Set LANG=C.UTF-8, or another UTF-8 locale from: locale -a')
  }
  return ok('terminal', `${kind}, ${keeper ?? 'a run ends when it is closed'}`)
}

/** What keeps a run alive after the terminal closes. */
function whatKeepsAlive(env: Variables): string | undefined {
  if (env['TMUX']) return 'in tmux'
  if (env['STY']) return 'in screen'
  return env['ZELLIJ'] ? 'in zellij' : undefined
}

/** Earlier than any release. */
const EARLIEST = Date.UTC(2026, 0)
const LATEST = Date.UTC(2100, 0)
/** Clocks of other machines and file systems may differ a little. */
const TOLERANCE_MS = 2 * 60_000
const SET_IT = 'Set the clock: logins and waits until a reset depend on it.'

/** Whether the time is plausible: no file may have been changed in the future. */
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
