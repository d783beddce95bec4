import { shellWord } from '../base/shell-quote.ts'

type Environment = Readonly<Record<string, string | undefined>>

const FAKE_KEY = 'fake-key-for-a-scripted-model'
const FAKE_LOGIN = 'sk-ant-oat01-fake-login-for-a-scripted-model'

/** What keeps `claude` quick and quiet; what the user set already stays. */
const CALM: Readonly<Record<string, string>> = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  CLAUDE_CODE_MAX_RETRIES: '0',
}

/** What would lead `claude` to another server, or to another login than the fake key. */
const DETOURS = [
  'ANTHROPIC_AUTH_TOKEN',
  'ANTHROPIC_CUSTOM_HEADERS',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CODE_USE_ANTHROPIC_AWS',
  'CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD',
  'CLAUDE_CODE_USE_BEDROCK',
  'CLAUDE_CODE_USE_FOUNDRY',
  'CLAUDE_CODE_USE_GATEWAY',
  'CLAUDE_CODE_USE_MANTLE',
  'CLAUDE_CODE_USE_VERTEX',
]

/** The variables that lead `claude` to a scripted model; only a subscription has limits of a plan. */
export function makeVariables(
  url: string,
  outer: Environment,
  isSubscription: boolean,
): Record<string, string> {
  const calm = Object.entries(CALM).filter(([name]) => outer[name] === undefined)
  const noProxy = [outer['NO_PROXY'] ?? outer['no_proxy'], new URL(url).hostname]
    .filter((hosts) => hosts !== undefined && hosts !== '')
    .join(',')
  return {
    ANTHROPIC_BASE_URL: url,
    // An empty key is none, and hides one that a shell may have.
    ...(isSubscription
      ? { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: FAKE_LOGIN }
      : { ANTHROPIC_API_KEY: FAKE_KEY }),
    NO_PROXY: noProxy,
    no_proxy: noProxy,
    ...Object.fromEntries(calm),
  }
}

/** The whole environment of a command whose `claude` should find the scripted model alone. */
export function makeEnvironment(
  url: string,
  outer: Environment,
  isSubscription = false,
): Environment {
  const kept = Object.entries(outer).filter(([name]) => !DETOURS.includes(name))
  return { ...Object.fromEntries(kept), ...makeVariables(url, outer, isSubscription) }
}

/** The same change as a line for a shell. */
export function renderShellLine(url: string, outer: Environment, isSubscription = false): string {
  const detours = DETOURS.filter((name) => outer[name] !== undefined)
  const words = Object.entries(makeVariables(url, outer, isSubscription)).map(
    ([name, value]) => `${name}=${shellWord(value)}`,
  )
  const unset = detours.length === 0 ? '' : `unset ${detours.join(' ')}; `
  return `${unset}export ${words.join(' ')}`
}
