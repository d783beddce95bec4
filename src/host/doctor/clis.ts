import { printable } from '../../base/terminal/printable.ts'
import { ok, problem, soften, warning, type Check, type CheckContext } from './check.ts'
import { isOn } from './access.ts'
import { runBriefly, findProgram } from './program.ts'

const OTHERS = ['codex', 'gemini', 'opencode']
const LIMIT_MS = 5000
const INSTALL = 'Install it: npm install -g @anthropic-ai/claude-code'

/** The first version of `claude` that can disable background tasks. */
const OLDEST = '2.1.4'
const NO_BACKGROUND = 'CLAUDE_CODE_DISABLE_BACKGROUND_TASKS'

/** `claude` always; the others only if installed, because agents do not call them. */
export async function checkClis(context: CheckContext): Promise<Check[]> {
  const others = OTHERS.filter((name) => findProgram(name, context).kind === 'program')
  const [claude, ...more] = await Promise.all(
    ['claude', ...others].map((name) => checkVersion(name, context)),
  )
  return [judgeClaude(claude!, context), ...more.map((check) => soften(check, false))]
}

/** A working `claude` may still hang in an unattended run. */
function judgeClaude(check: Check, { env, needsClaude }: CheckContext): Check {
  if (check.state !== 'ok') return soften(check, needsClaude)
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

async function checkVersion(name: string, context: CheckContext): Promise<Check> {
  const found = findProgram(name, context)
  if (found.kind === 'missing')
    return problem(name, 'not found on PATH; agents with a system prompt need it', INSTALL)
  const where = printable(found.path)
  if (found.kind === 'unusable') {
    return problem(name, `${where} ${found.problem}`, 'Install it again, or correct PATH.')
  }
  if (found.kind === 'inside') {
    const text = `${where} is inside the working directory, so it was not run to get its version`
    return warning(name, text, `Run ${name} --version yourself, if you trust it.`)
  }
  // Not in the working directory, where settings could make the program run others.
  const options = { cwd: '/', env: context.env, limitMs: LIMIT_MS }
  const answer = await runBriefly([found.path, '--version'], options)
  const line = printable(answer?.stdout.trim().split('\n', 1)[0] ?? '').slice(0, 80)
  if (answer?.code === 0 && line !== '') return ok(name, `${line} (${where})`)
  const how =
    answer === undefined
      ? `no answer within ${LIMIT_MS / 1000} s`
      : `exit ${answer.code ?? 'by a signal'}`
  const text = `${where} does not report its version (${how})`
  return problem(name, text, `Run ${name} --version yourself, and install it again if it fails.`)
}
