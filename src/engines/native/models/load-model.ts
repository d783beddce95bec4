import type { LanguageModelV4 } from '@ai-sdk/provider'
import { UserError } from '../../../base/errors.ts'
import { SCRIPTED_MODEL } from '../../../base/scripted-model.ts'
import type { Environment } from '../../../base/environment.ts'
import type { NativeAgent } from '../../engine.ts'
import { keyVariables, modelId, VARIABLES } from '../model-names.ts'
import { BrokenAnswer } from './failure.ts'

/** Loads only the library of the agent's provider. */
export async function loadModel(agent: NativeAgent, env: Environment): Promise<LanguageModelV4> {
  const id = modelId(agent.model)
  const apiKey = keyOf(agent, env)
  const baseURL = addressOf(agent, env)
  const settings = {
    apiKey,
    fetch: makeModelFetch() as typeof fetch,
    ...(baseURL === undefined ? {} : { baseURL }),
  }
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
      const { apiKey: _, ...keyless } = settings
      const named = {
        name: 'compatible',
        includeUsage: true,
        ...(apiKey === '' ? keyless : settings),
      }
      return createOpenAICompatible({ baseURL: '', ...named })(id)
    }
  }
}

/** Whether requests go to `forkhestra fake-model`. */
export function isScripted(agent: NativeAgent, env: Environment): boolean {
  const url = env[SCRIPTED_MODEL]
  return Boolean(url) && addressOf(agent, env) === `${url}${PATHS[agent.provider]}`
}

/** The variable that provides the key; undefined if none is set. */
export function keyName(agent: NativeAgent, env: Environment): string | undefined {
  return keyVariables(agent).find((name) => Boolean(env[name]?.trim()))
}

function keyOf(agent: NativeAgent, env: Environment): string {
  const name = keyName(agent, env)
  if (name !== undefined) return env[name]!.trim()
  const variables = keyVariables(agent)
  if (variables.length === 0) return ''
  throw new UserError(`Agent '${agent.name}' has no key: ${variables.join(' or ')} is not set.`)
}

/** Appended to an address that is only a host. */
const PATHS = { anthropic: '/v1', openai: '/v1', google: '/v1beta', compatible: '' } as const

/** Providers whose address variables, by convention, do not include the version. */
const WITHOUT_VERSION: readonly NativeAgent['provider'][] = ['anthropic', 'google']

function addressOf({ provider, baseUrl }: NativeAgent, env: Environment): string | undefined {
  const found = baseUrl ?? VARIABLES[provider].urls.map((name) => env[name]?.trim()).find(Boolean)
  if (found === undefined) return undefined
  const address = found.replace(/\/+$/, '')
  const isHostAlone = /^https?:\/\/[^/]+$/.test(address)
  const isBeforeVersion = baseUrl === undefined && WITHOUT_VERSION.includes(provider)
  const lacksVersion = isHostAlone || (isBeforeVersion && !/\/v\d+[a-z]*$/.test(address))
  return lacksVersion ? `${address}${PATHS[provider]}` : address
}

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * Turns off the timeout of the runtime, six minutes without a byte: a model may think for longer, and a
 * retry is paid for again. Idle limits are up to the run. Redirects are not followed: they would send the
 * key and the conversation to another host.
 */
export function makeModelFetch(inner: Fetch = fetch): Fetch {
  return async (input, init) => {
    const options = { ...init, timeout: false, redirect: 'manual' }
    const response = await inner(input, options as RequestInit)
    const target = response.headers.get('location')
    if (response.status >= 300 && response.status < 400 && target !== null) {
      await response.body?.cancel()
      const from = new URL(response.url)
      const to = URL.parse(target, from.href)?.origin ?? target
      throw new BrokenAnswer(`${from.origin} redirects to ${to}; redirects are not followed`)
    }
    // A network's login page answers instead of the server.
    const isPage = /^text\/html\b/i.test(response.headers.get('content-type') ?? '')
    if (!response.ok || !isPage) return response
    await response.body?.cancel()
    const { origin } = new URL(response.url)
    throw new BrokenAnswer(`${origin} answered with a web page instead of a model response`)
  }
}
