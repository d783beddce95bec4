import { ok, problem, warning, type Check, type Place } from './check.ts'

/** `claude` refuses to skip permissions as root unless IS_SANDBOX is set. */
export function checkSandbox({ facts, needsClaude }: Place, uid: number | undefined): Check {
  if (!facts.mustAsk) return ok('user', uid === 0 ? 'root, in a sandbox' : 'not root')
  const report = needsClaude ? problem : warning
  return report(
    'user',
    'root without IS_SANDBOX=1: claude refuses to work unattended',
    'Use another user, or set IS_SANDBOX=1 in a disposable container.',
  )
}

/** Whether a coding CLI has started us; nothing where none has. */
export function checkNesting(
  { env }: Place,
  outer: Readonly<Record<string, string | undefined>>,
): Check[] {
  const names = Object.keys(outer).filter(
    (name) => outer[name] !== undefined && env[name] === undefined && !name.startsWith('BUN_'),
  )
  if (names.length === 0) return []
  const text = `inside another coding CLI; agents do not get its ${names.join(', ')}`
  const next = 'A run ends with the CLI that started it; start long runs in a separate terminal.'
  return [warning('nesting', text, next)]
}
