import { printable } from '../../base/printable.ts'
import { ok, problem, warning, type Check, type Place } from './check.ts'
import { ask, findProgram } from './program.ts'

const OTHERS = ['codex', 'gemini', 'opencode']
const LIMIT_MS = 5000
const INSTALL = 'Install it: npm install -g @anthropic-ai/claude-code'

/** `claude` in any case; the others only where they are. */
export async function checkClis(place: Place): Promise<Check[]> {
  const others = OTHERS.filter((name) => findProgram(name, place).kind === 'program')
  return Promise.all([checkClaude(place), ...others.map((name) => checkVersion(name, place))])
}

async function checkClaude(place: Place): Promise<Check> {
  const found = findProgram('claude', place)
  if (found.kind !== 'missing') return checkVersion('claude', place)
  return place.needsClaude
    ? problem('claude', 'is not on PATH, and agents with a system prompt need it', INSTALL)
    : warning('claude', 'is not on PATH; the chains here do without it', INSTALL)
}

async function checkVersion(name: string, place: Place): Promise<Check> {
  const found = findProgram(name, place)
  if (found.kind === 'missing') return warning(name, 'is not on PATH', 'Install it.')
  const where = printable(found.path)
  if (found.kind === 'unusable') {
    return problem(name, `${where} ${found.problem}`, 'Install it again, or correct PATH.')
  }
  if (found.kind === 'inside') {
    const text = `${where} is inside of the working directory and was not started to ask for its version`
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
  const text = `${where} does not tell its version (${how})`
  return problem(name, text, `Run ${name} --version yourself, and install it again if it fails.`)
}
