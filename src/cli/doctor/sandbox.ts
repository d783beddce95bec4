import { ok, problem, warning, type Check, type Place } from './check.ts'

/** `claude` refuses to skip its questions for root, unless it is told that this is a sandbox. */
export function checkSandbox({ facts, needsClaude }: Place, uid: number | undefined): Check {
  if (!facts.mustAsk) return ok('user', uid === 0 ? 'root, in a sandbox' : 'not root')
  const report = needsClaude ? problem : warning
  return report(
    'user',
    'root without IS_SANDBOX=1: claude refuses to work unattended',
    'Use another user; or, in a container that may be lost, set IS_SANDBOX=1.',
  )
}
