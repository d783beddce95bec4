import type { ChainsConfig } from '../../chain/parse/chains-schema.ts'
import { ok, problem, type Check, type Place } from './check.ts'
import { isSet, objectIn, readClaudeFiles } from './claude-files.ts'

/** Where the coding CLIs send their requests, if not to where they usually do. */
const ADDRESSES = [
  'ANTHROPIC_BASE_URL',
  'ANTHROPIC_BEDROCK_BASE_URL',
  'ANTHROPIC_VERTEX_BASE_URL',
  'ANTHROPIC_FOUNDRY_BASE_URL',
  'OPENAI_BASE_URL',
  'GOOGLE_GEMINI_BASE_URL',
]
const PROXIES = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy']

/** Names other addresses and proxies, by their host alone: the rest may hold a password. */
export function checkNetwork(
  { env }: Place,
  { agents = {} }: Pick<ChainsConfig, 'agents'> = {},
): Check {
  const settings = objectIn(readClaudeFiles(env).settings, 'env') ?? {}
  const own = Object.entries(agents).flatMap(([name, { baseUrl }]) =>
    baseUrl === undefined ? [] : [{ where: `baseUrl of ${name}`, host: hostOf(baseUrl, false) }],
  )
  const variables = [...ADDRESSES, ...PROXIES].flatMap((name) => {
    // What the settings say holds for claude, whatever the environment says.
    const isSetting = isSet(settings[name])
    const value = isSetting ? settings[name] : env[name]
    const where = isSetting ? `${name} in the settings of claude` : name
    return isSet(value) ? [{ where, host: hostOf(value, PROXIES.includes(name)) }] : []
  })
  const set = [...variables, ...own]
  if (set.length === 0) return ok('network', 'no proxy and no other address is set')
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
