import type { LanguageModelV4 } from '@ai-sdk/provider'
import { UserError } from '../../../base/errors.ts'
import { SCRIPTED_MODEL } from '../../../base/scripted-model.ts'
import type { NativeAgent } from '../../engine.ts'
import { modelId, VARIABLES } from '../model-names.ts'
import { BrokenAnswer } from './failure.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Loads only the library of the agent's provider. */
export async function loadModel(agent: NativeAgent, env: Environment): Promise<LanguageModelV4> {
  const id = modelId(agent.model)
  const apiKey = keyOf(agent, env)
  const baseURL = addressOf(agent, env)
  const patient = makePatientFetch() as typeof fetch
  const settings = { apiKey, fetch: patient, ...(baseURL === undefined ? {} : { baseURL }) }
  switch (agent.provider) {
    case 'anthropic': {
      const { createAnthropic } = await import('@ai-sdk/anthropic')
      return createAnthropic(settings)(id)
    }
    case 'openai': {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return createOpenAI(settings).responses(id)
    }
    case 'google': {
      const { createGoogleGenerativeAI } = await import('@ai-sdk/google')
      return createGoogleGenerativeAI(settings)(id)
    }
    case 'compatible': {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const named = {
        name: 'compatible',
        includeUsage: true,
        fetch: patient,
        baseURL: baseURL ?? '',
      }
      return createOpenAICompatible({ ...named, ...(apiKey === '' ? {} : { apiKey }) })(id)
    }
  }
}

/** Whether requests go to `forkhestra fake-model`. */
export function isScripted(agent: NativeAgent, env: Environment): boolean {
  const url = env[SCRIPTED_MODEL]
  return Boolean(url) && addressOf(agent, env) === `${url}${PATHS[agent.provider]}`
}

/** The variable that provides the key; undefined if none is set. */
export function keyName(
  { provider, apiKeyEnv }: NativeAgent,
  env: Environment,
): string | undefined {
  const variables = apiKeyEnv === undefined ? VARIABLES[provider].keys : [apiKeyEnv]
  return variables.find((name) => Boolean(env[name]?.trim()))
}

function keyOf({ name, provider, apiKeyEnv }: NativeAgent, env: Environment): string {
  const variables = apiKeyEnv === undefined ? VARIABLES[provider].keys : [apiKeyEnv]
  const found = firstSet(variables, env)
  if (found !== undefined || variables.length === 0) return found ?? ''
  throw new UserError(`Agent '${name}' has no key: ${variables.join(' or ')} is not set.`)
}

/** Appended to an address that is only a host. */
const PATHS = { anthropic: '/v1', openai: '/v1', google: '/v1beta', compatible: '' } as const

/** Providers whose address variables, by convention, do not include the version. */
const WITHOUT_VERSION: readonly NativeAgent['provider'][] = ['anthropic', 'google']

function addressOf({ provider, baseUrl }: NativeAgent, env: Environment): string | undefined {
  const found = baseUrl ?? firstSet(VARIABLES[provider].urls, env)
  if (found === undefined) return undefined
  const address = found.replace(/\/+$/, '')
  const isHostAlone = /^https?:\/\/[^/]+$/.test(address)
  const isBeforeVersion = baseUrl === undefined && WITHOUT_VERSION.includes(provider)
  const lacksVersion = isHostAlone || (isBeforeVersion && !/\/v\d+[a-z]*$/.test(address))
  return lacksVersion ? `${address}${PATHS[provider]}` : address
}

function firstSet(names: readonly string[], env: Environment): string | undefined {
  return names.map((name) => env[name]?.trim()).find((value) => Boolean(value))
}

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * Turns off the timeout of the runtime, six minutes without a byte: a model may think for longer, and a
 * retry is paid for again. Idle limits are up to the run.
 */
export function makePatientFetch(inner: Fetch = fetch): Fetch {
  const patience: RequestInit = { timeout: false } as RequestInit
  return async (input, init) => {
    const response = await inner(input, { ...init, ...patience })
    if (response.ok && isPage(response)) throw await pageInstead(response)
    return response
  }
}

/** Login pages of networks answer in place of any server. */
function isPage({ headers }: Response): boolean {
  return /^text\/html\b/i.test(headers.get('content-type') ?? '')
}

async function pageInstead(response: Response): Promise<BrokenAnswer> {
  await response.body?.cancel()
  const { origin } = new URL(response.url)
  return new BrokenAnswer(`${origin} answered with a web page instead of a model response`)
}
