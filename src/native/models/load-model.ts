import type { LanguageModelV4 } from '@ai-sdk/provider'
import { UserError } from '../../base/errors.ts'
import type { NativeAgent } from '../../engines/engine.ts'
import { modelId, VARIABLES } from '../../engines/native-models.ts'
import { makePatientFetch } from './patient-fetch.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** The library of the agent's provider, and of no other, loaded when it is needed. */
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

/** The variable from which the key is; undefined where none is set. */
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

/** What belongs behind the address of a host, where somebody has written the host alone. */
const PATHS = { anthropic: '/v1', openai: '/v1', google: '/v1beta', compatible: '' } as const

/** Variables which, as other programs read them, hold what stands before the version. */
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
