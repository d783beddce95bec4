import { join } from 'node:path'
import { readTextFile } from '../../base/files.ts'
import { ok, problem, warning, type Check, type Place } from './check.ts'

const KEYS = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'CLAUDE_CODE_OAUTH_TOKEN']
const PROVIDERS = ['BEDROCK', 'VERTEX', 'FOUNDRY', 'MANTLE', 'ANTHROPIC_AWS'].map(
  (name) => `CLAUDE_CODE_USE_${name}`,
)
const LOG_IN = 'Run claude and type /login, or set ANTHROPIC_API_KEY.'
const LIMIT_BYTES = 16 * 1024 * 1024

/**
 * Whether `claude` is logged in, as far as can be said without asking anybody. Nothing of a secret is
 * ever part of a text.
 */
export function checkLogin({ env, needsClaude }: Place, now: number, platform: string): Check {
  const provider = PROVIDERS.find((name) => isOn(env[name]))
  if (provider !== undefined)
    return ok('login', `${provider} is set; the login of that provider was not checked`)
  const key = KEYS.find((name) => (env[name] ?? '').trim() !== '')
  if (key !== undefined) return ok('login', `${key} is set; whether it is accepted was not checked`)
  const home = env['HOME'] ?? ''
  const moved = env['CLAUDE_CONFIG_DIR'] ?? ''
  const folder = moved === '' ? join(home, '.claude') : moved
  const oauth = objectIn(readJson(join(folder, '.credentials.json')), 'claudeAiOauth')
  if (typeof oauth?.['accessToken'] === 'string') return checkExpiry(oauth, now)
  if (hasKey(readJson(join(folder, 'settings.json'))))
    return ok('login', 'by the settings of claude')
  const state = readJson(join(moved === '' ? home : moved, '.claude.json'))
  if (typeof state?.['primaryApiKey'] === 'string') return ok('login', 'with an API key')
  // There the login is in the keychain, which would ask the person.
  if (platform === 'darwin')
    return warning('login', 'may be in the keychain, which was not asked', LOG_IN)
  const report = needsClaude ? problem : warning
  return report(
    'login',
    'claude is not logged in: there is no key and no login of a person',
    LOG_IN,
  )
}

/** As `claude` reads its switches. */
function isOn(value: unknown): boolean {
  return typeof value === 'string' && ['1', 'true', 'yes', 'on'].includes(value.toLowerCase())
}

function checkExpiry(oauth: Fields, now: number): Check {
  const { expiresAt, refreshToken } = oauth
  const isOver = typeof expiresAt === 'number' && expiresAt <= now
  if (!isOver) return ok('login', 'a person is logged in')
  if (typeof refreshToken === 'string' && refreshToken !== '')
    return ok('login', 'a person is logged in; claude renews the login at its next start')
  return problem('login', 'the login has expired', LOG_IN)
}

type Fields = Readonly<Record<string, unknown>>

function hasKey(settings: Fields | undefined): boolean {
  const env = objectIn(settings, 'env') ?? {}
  return (
    typeof settings?.['apiKeyHelper'] === 'string' ||
    KEYS.some((name) => Boolean(env[name])) ||
    PROVIDERS.some((name) => isOn(env[name]))
  )
}

function objectIn(fields: Fields | undefined, name: string): Fields | undefined {
  const value = fields?.[name]
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined
}

function readJson(path: string): Fields | undefined {
  const file = readTextFile(path, LIMIT_BYTES)
  if (file.kind !== 'text') return undefined
  try {
    return objectIn({ content: JSON.parse(file.text) as unknown }, 'content')
  } catch {
    return undefined
  }
}
