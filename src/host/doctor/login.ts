import { formatDuration } from '../../base/durations.ts'
import { ok, problem, warning, type Check, type Place } from './check.ts'
import {
  isOn,
  isSet,
  objectIn,
  readClaudeFiles,
  type ClaudeFiles,
  type Fields,
} from './claude-files.ts'

const PROVIDERS = ['BEDROCK', 'VERTEX', 'FOUNDRY', 'MANTLE', 'ANTHROPIC_AWS'].map(
  (name) => `CLAUDE_CODE_USE_${name}`,
)
/** Billed by use; in the order in which `claude` looks for them. */
const KEYS = ['ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_API_KEY']
/** The long-lived token of a person. */
const TOKEN = 'CLAUDE_CODE_OAUTH_TOKEN'
const LOG_IN = 'Run claude and type /login, or set ANTHROPIC_API_KEY.'
/** A login that cannot be renewed has to last for a night. */
const NIGHT_MS = 12 * 60 * 60 * 1000

/** One way to log in; `by` says who pays. */
interface Login {
  readonly by: 'provider' | 'key' | 'person'
  readonly words: string
  readonly check: Check
  /** How to do without it. */
  readonly drop: string
}

/**
 * Whether `claude` is logged in, as far as its files say. Nothing of a secret is
 * ever part of a text.
 */
export function checkLogin({ env, needsClaude }: Place, now: number, platform: string): Check {
  const logins = findLogins(env, readClaudeFiles(env), now)
  const [used, ...unused] = logins
  if (used?.by === 'key' && unused.some(({ by }) => by === 'person')) {
    const text = `${used.words}; a login exists too, but claude uses the key, which is billed`
    return warning('login', text, `To use the subscription instead: ${used.drop}`)
  }
  const check = used?.check ?? withoutLogin(platform)
  return check.state === 'problem' && !needsClaude ? { ...check, state: 'warning' } : check
}

function withoutLogin(platform: string): Check {
  // There the login is in the keychain, which would ask the person.
  if (platform === 'darwin')
    return warning('login', 'may be in the keychain, which was not checked', LOG_IN)
  return problem('login', 'claude is not logged in: no API key and no saved login found', LOG_IN)
}

/** In the order in which `claude` chooses. */
function findLogins(env: Place['env'], files: ClaudeFiles, now: number): Login[] {
  const { oauth, settings, state } = files
  const inSettings = objectIn(settings, 'env') ?? {}
  const logins: Login[] = []
  const add = (by: Login['by'], words: string, drop: string, check = ok('login', words)) =>
    logins.push({ by, words, drop, check })
  const addVariables = (by: Login['by'], names: readonly string[], note: string) => {
    for (const name of names) {
      const isUsed = by === 'provider' ? isOn : isSet
      if (isUsed(env[name]))
        add(by, `${name} is set`, `unset ${name}`, ok('login', `${name} is set; ${note}`))
      else if (isUsed(inSettings[name]))
        add(by, 'by the settings of claude', `remove ${name} from settings.json`)
    }
  }
  addVariables('provider', PROVIDERS, 'the login of that provider was not verified')
  addVariables('key', KEYS, 'not verified')
  if (isSet(settings?.['apiKeyHelper']))
    add('key', 'by the settings of claude', 'remove apiKeyHelper from settings.json')
  addVariables('person', [TOKEN], 'not verified')
  if (isSet(oauth?.['accessToken'])) add('person', '', '', describePerson(oauth, now))
  if (isSet(state?.['primaryApiKey'])) add('key', 'with an API key', '')
  return logins
}

function describePerson({ expiresAt, refreshToken }: Fields, now: number): Check {
  const left = typeof expiresAt === 'number' ? expiresAt - now : Infinity
  if (isSet(refreshToken)) {
    const more = left > 0 ? '' : '; claude will renew the login at its next start'
    return ok('login', `logged in${more}`)
  }
  if (left <= 0) return problem('login', 'the login has expired', LOG_IN)
  if (left >= NIGHT_MS) return ok('login', 'logged in')
  const text = `logged in for ${formatDuration(left)} more; the login cannot be renewed`
  return warning('login', text, LOG_IN)
}
