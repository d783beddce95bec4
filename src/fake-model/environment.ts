import { SCRIPTED_MODEL } from '../base/scripted-model.ts'
import { shellWord } from '../base/shell-quote.ts'
import type { Environment } from '../base/environment.ts'

const FAKE_KEY = 'fake-key-for-a-scripted-model'
const FAKE_LOGIN = 'sk-ant-oat01-fake-login-for-a-scripted-model'

/** Stops retries and background traffic of `claude`; the user's own settings win. */
const QUIET: Readonly<Record<string, string>> = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  CLAUDE_CODE_MAX_RETRIES: '0',
}

/** Variables that would send `claude` to another server or give it another login. */
const MISLEADING = [
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

/** Variables that point `claude` at a scripted model; usage limits need a (fake) subscription. */
export function makeVariables(
  url: string,
  outer: Environment,
  isSubscription: boolean,
): Record<string, string> {
  const quiet = Object.entries(QUIET).filter(([name]) => outer[name] === undefined)
  const noProxy = [outer['NO_PROXY'] ?? outer['no_proxy'], new URL(url).hostname]
    .filter((hosts) => hosts !== undefined && hosts !== '')
    .join(',')
  return {
    ANTHROPIC_BASE_URL: url,
    [SCRIPTED_MODEL]: url,
    // An empty key counts as unset and hides the user's own.
    ...(isSubscription
      ? { ANTHROPIC_API_KEY: '', CLAUDE_CODE_OAUTH_TOKEN: FAKE_LOGIN }
      : { ANTHROPIC_API_KEY: FAKE_KEY }),
    NO_PROXY: noProxy,
    no_proxy: noProxy,
    ...Object.fromEntries(quiet),
  }
}

/** The environment of a command whose `claude` may reach nothing but the scripted model. */
export function makeEnvironment(
  url: string,
  outer: Environment,
  isSubscription = false,
): Environment {
  const kept = Object.entries(outer).filter(([name]) => !MISLEADING.includes(name))
  return { ...Object.fromEntries(kept), ...makeVariables(url, outer, isSubscription) }
}

/** The same change as a line for a shell. */
export function renderShellLine(url: string, outer: Environment, isSubscription = false): string {
  const misleading = MISLEADING.filter((name) => outer[name] !== undefined)
  const assignments = Object.entries(makeVariables(url, outer, isSubscription)).map(
    ([name, value]) => `${name}=${shellWord(value)}`,
  )
  const unset = misleading.length === 0 ? '' : `unset ${misleading.join(' ')}; `
  return `${unset}export ${assignments.join(' ')}`
}
