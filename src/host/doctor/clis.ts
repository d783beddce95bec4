import { printable } from '../../base/terminal/printable.ts'
import { ok, problem, warning, type Check, type Place } from './check.ts'
import { isOn } from './access.ts'
import { ask, findProgram } from './program.ts'

const OTHERS = ['codex', 'gemini', 'opencode']
const LIMIT_MS = 5000
const INSTALL = 'Install it: npm install -g @anthropic-ai/claude-code'

/** The first version of `claude` that can disable background tasks. */
const OLDEST = '2.1.4'
const NO_BACKGROUND = 'CLAUDE_CODE_DISABLE_BACKGROUND_TASKS'

/** `claude` in any case; the others only if they are installed. */
export async function checkClis(place: Place): Promise<Check[]> {
  const others = OTHERS.filter((name) => findProgram(name, place).kind === 'program')
  return Promise.all([checkClaude(place), ...others.map((name) => checkOther(name, place))])
}

async function checkClaude(place: Place): Promise<Check> {
  const found = findProgram('claude', place)
  if (found.kind !== 'missing') return judgeClaude(await checkVersion('claude', place), place)
  return place.needsClaude
    ? problem('claude', 'not found on PATH, but agents with a system prompt need it', INSTALL)
    : warning('claude', 'not found on PATH; the chains here do not need it', INSTALL)
}

/** A `claude` that works may still hang in an unattended run. */
function judgeClaude(check: Check, { env, needsClaude }: Place): Check {
  if (check.state === 'problem') return needsClaude ? check : { ...check, state: 'warning' }
  if (check.state === 'warning') return check
  const hangs = 'hangs if a command keeps running in the background'
  if (isOlder(check.text, OLDEST))
    return warning('claude', `${check.text} ${hangs}`, `Update it to ${OLDEST} or later.`)
  if (!isOn(env[NO_BACKGROUND]))
    return warning('claude', `${check.text} ${hangs}`, `Unset ${NO_BACKGROUND}, or set it to 1.`)
  return check
}

function isOlder(text: string, than: string): boolean {
  const version = /\d+\.\d+\.\d+/.exec(text)?.[0]
  return version !== undefined && Bun.semver.order(version, than) < 0
}

/** Agents do not call these, so a broken one is only a warning. */
async function checkOther(name: string, place: Place): Promise<Check> {
  const check = await checkVersion(name, place)
  return check.state === 'problem' ? { ...check, state: 'warning' } : check
}

async function checkVersion(name: string, place: Place): Promise<Check> {
  const found = findProgram(name, place)
  if (found.kind === 'missing') return warning(name, 'is not on PATH', 'Install it.')
  const where = printable(found.path)
  if (found.kind === 'unusable') {
    return problem(name, `${where} ${found.problem}`, 'Install it again, or correct PATH.')
  }
  if (found.kind === 'inside') {
    const text = `${where} is inside the working directory, so it was not run to get its version`
    return warning(name, text, `Run ${name} --version yourself, if you trust it.`)
  }
  // Not in the working directory: a program may read its settings there, and run what they name.
  const options = { cwd: '/', env: place.env, limitMs: LIMIT_MS }
  const answer = await ask([found.path, '--version'], options)
  const line = printable(answer?.stdout.trim().split('\n', 1)[0] ?? '').slice(0, 80)
  if (answer?.code === 0 && line !== '') return ok(name, `${line} (${where})`)
  const how =
    answer === undefined
      ? `not within ${LIMIT_MS / 1000} s`
      : `exit ${answer.code ?? 'by a signal'}`
  const text = `${where} does not report its version (${how})`
  return problem(name, text, `Run ${name} --version yourself, and install it again if it fails.`)
}
