import { join } from 'node:path'
import { formatDuration } from '../../base/durations.ts'
import { UserError, tryOr } from '../../base/errors.ts'
import { readTextFile } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import type { ChainsConfig } from '../../chain/parse/chains-schema.ts'
import { HIDDEN_KEY, isKeyHidden } from '../../chain/plan/checks.ts'
import { makeNativeAgent } from '../../chain/plan/direct-agent.ts'
import { keyVariables } from '../../engines/native/model-names.ts'
import { ok, problem, soften, warning, type Check, type CheckContext } from './check.ts'

// Checks access to models. No text contains any part of a secret.

const PROVIDERS = ['BEDROCK', 'VERTEX', 'FOUNDRY', 'MANTLE', 'ANTHROPIC_AWS'].map(
  (name) => `CLAUDE_CODE_USE_${name}`,
)
/** Billed by use, in the order in which `claude` looks for them. */
const KEYS = ['ANTHROPIC_AUTH_TOKEN', 'ANTHROPIC_API_KEY']
const TOKEN = 'CLAUDE_CODE_OAUTH_TOKEN'
const LOG_IN = 'Run claude and type /login, or set ANTHROPIC_API_KEY.'
/** A login that cannot be renewed must last through the night. */
const NIGHT_MS = 12 * 60 * 60 * 1000

/** One way to log in; `by` is how it is billed. */
interface Login {
  readonly by: 'provider' | 'key' | 'person'
  readonly words: string
  readonly check: Check
  /** How to disable it. */
  readonly drop: string
}

/** Whether `claude` is logged in, according to its files. */
export function checkLogin(
  { env, needsClaude }: CheckContext,
  now: number,
  platform: string,
): Check {
  const [used, ...unused] = findLogins(env, now)
  if (used?.by === 'key' && unused.some(({ by }) => by === 'person')) {
    const text = `${used.words}; a login exists too, but claude uses the key, which is billed`
    return warning('login', text, `To use the subscription instead: ${used.drop}`)
  }
  return soften(used?.check ?? withoutLogin(platform), needsClaude)
}

function withoutLogin(platform: string): Check {
  // The login is in the keychain, which would ask the user.
  if (platform === 'darwin')
    return warning('login', 'may be in the keychain, which was not checked', LOG_IN)
  return problem('login', 'claude is not logged in: no API key and no saved login found', LOG_IN)
}

/** In the order of `claude`'s precedence. */
function findLogins(env: CheckContext['env'], now: number): Login[] {
  const { oauth, settings, state } = readClaudeFiles(env)
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
        add(by, 'configured in the claude settings', `remove ${name} from settings.json`)
    }
  }
  addVariables('provider', PROVIDERS, 'the login of that provider was not verified')
  addVariables('key', KEYS, 'not verified')
  if (isSet(settings?.['apiKeyHelper']))
    add('key', 'configured in the claude settings', 'remove apiKeyHelper from settings.json')
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

/** Whether the native agents have keys. */
export function checkKeys({ agents = {} }: ChainsConfig, { env }: CheckContext): Check[] {
  const native = Object.entries(agents).flatMap(([name, config]) =>
    config.engine === 'native' ? (asNative(name, config) ?? []) : [],
  )
  if (native.length === 0) return []
  const keyed = native.filter((agent) => keyVariables(agent).length > 0)
  const missing = keyed.filter((agent) => {
    const own = { ...env, ...agents[agent.name]?.env }
    return !keyVariables(agent).some((name) => isSet(own[name]))
  })
  if (keyed.length === 0) return [ok('keys', 'native agents need none')]
  const names = native.map(({ name }) => name).join(', ')
  if (missing.length === 0) return [ok('keys', `set for ${names}; not verified`)]
  const isHidden = (agent: (typeof missing)[number]) =>
    isKeyHidden(keyVariables(agent), { hasVariable: (name) => isSet(env[name]) })
  const lines = missing.map((agent) => {
    const unset = `${keyVariables(agent).join(' or ')} is not set`
    return `${agent.name}: ${isHidden(agent) ? HIDDEN_KEY.message : unset}`
  })
  const unset = missing.find((agent) => !isHidden(agent))
  const hint = unset === undefined ? HIDDEN_KEY.hint : `Set it: export ${keyVariables(unset)[0]}=…`
  return [problem('keys', lines.join('\n'), hint)]
}

/** The configuration check reports broken agents. */
function asNative(name: string, config: Parameters<typeof makeNativeAgent>[2]) {
  try {
    return makeNativeAgent(name, [], config, undefined)
  } catch (error) {
    if (error instanceof UserError) return undefined
    throw error
  }
}

/** Variables that redirect the requests of coding CLIs. */
const ADDRESSES = [
  'ANTHROPIC_BASE_URL',
  'ANTHROPIC_BEDROCK_BASE_URL',
  'ANTHROPIC_VERTEX_BASE_URL',
  'ANTHROPIC_FOUNDRY_BASE_URL',
  'OPENAI_BASE_URL',
  'GOOGLE_GEMINI_BASE_URL',
]
const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']

/** Lists addresses and proxies, by host only: the rest may contain a password. */
export function checkNetwork(
  { env }: CheckContext,
  { agents = {} }: Pick<ChainsConfig, 'agents'> = {},
): Check {
  const settings = objectIn(readClaudeFiles(env).settings, 'env') ?? {}
  const own = Object.entries(agents).flatMap(([name, { baseUrl }]) =>
    baseUrl === undefined ? [] : [{ where: `baseUrl of ${name}`, host: hostOf(baseUrl, false) }],
  )
  const variables = [...ADDRESSES, ...PROXIES].flatMap((name) => {
    // For claude, its settings win over the environment.
    const isSetting = isSet(settings[name])
    const value = isSetting ? settings[name] : env[name]
    const where = isSetting ? `${name} in the claude settings` : name
    return isSet(value) ? [{ where, host: hostOf(value, PROXIES.includes(name)) }] : []
  })
  const set = [...variables, ...own]
  if (set.length === 0) return ok('network', 'no proxy or base URL is set')
  const wrong = set.filter(({ host }) => host === undefined).map(({ where }) => where)
  if (wrong.length > 0) {
    const text = `${wrong.join(', ')} is not a valid address`
    return problem('network', text, 'Fix or remove it; an address looks like https://host:port')
  }
  return ok('network', set.map(({ where, host }) => `${where} is ${host}`).join('\n'))
}

function hostOf(value: string, isProxy: boolean): string | undefined {
  // Proxies may be written without a scheme.
  const isBare = isProxy && !value.includes('://')
  const url = URL.parse(isBare ? `http://${value.trim()}` : value.trim())
  if (url === null || url.host === '') return undefined
  return `${url.protocol}//${url.host}`
}

const LIMIT_BYTES = 16 * 1024 * 1024

type Fields = Readonly<Record<string, unknown>>

/** Where `claude` keeps its files; undefined without a home. */
export function claudeFolder(env: CheckContext['env']): string | undefined {
  const { CLAUDE_CONFIG_DIR: moved = '', HOME: home = '' } = env
  if (moved !== '') return moved
  return home === '' ? undefined : join(home, '.claude')
}

/** What the files of `claude` say about its login. */
function readClaudeFiles(env: CheckContext['env']): {
  readonly oauth?: Fields | undefined
  readonly settings?: Fields | undefined
  readonly state?: Fields | undefined
} {
  const folder = claudeFolder(env)
  if (folder === undefined) return {}
  return {
    oauth: objectIn(readJson(join(folder, '.credentials.json')), 'claudeAiOauth'),
    settings: readJson(join(folder, 'settings.json')),
    // Next to the folder, unless the folder was moved.
    state: readJson(join(env['CLAUDE_CONFIG_DIR'] || env['HOME'] || '', '.claude.json')),
  }
}

/** Whether `claude` considers a variable true. */
export function isOn(value: unknown): boolean {
  return typeof value === 'string' && ['1', 'true', 'yes', 'on'].includes(value.toLowerCase())
}

function isSet(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== ''
}

function objectIn(fields: Fields | undefined, name: string): Fields | undefined {
  const value = fields?.[name]
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined
}

function readJson(path: string): Fields | undefined {
  const file = readTextFile(path, LIMIT_BYTES)
  if (file.kind !== 'text') return undefined
  return tryOr(undefined, () => objectIn({ content: parseJson(file.text) }, 'content'))
}
