import { UserError } from '../../base/errors.ts'
import { own } from '../../base/objects.ts'
import type { NativeAgent, Provider } from '../engine.ts'

const PROVIDERS: readonly Provider[] = ['anthropic', 'openai', 'google', 'compatible']

/** Environment variables for the key and address of each provider; the first that is set wins. */
export const VARIABLES: Readonly<
  Record<Provider, { readonly keys: readonly string[]; readonly urls: readonly string[] }>
> = {
  anthropic: { keys: ['ANTHROPIC_API_KEY'], urls: ['ANTHROPIC_BASE_URL'] },
  openai: { keys: ['OPENAI_API_KEY'], urls: ['OPENAI_BASE_URL'] },
  google: {
    keys: ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
    urls: ['GOOGLE_GEMINI_BASE_URL'],
  },
  compatible: { keys: [], urls: [] },
}

/** The variables of which one must contain the API key; empty if the service needs no key. */
export function keyVariables({
  provider,
  apiKeyEnv,
}: Pick<NativeAgent, 'provider' | 'apiKeyEnv'>): readonly string[] {
  return apiKeyEnv === undefined ? VARIABLES[provider].keys : [apiKeyEnv]
}

/** Names without a version. */
const ALIASES: Readonly<Record<string, string>> = {
  sonnet: 'anthropic/claude-sonnet-5-5',
  opus: 'anthropic/claude-opus-5-5',
  haiku: 'anthropic/claude-haiku-5-5',
}

/** Ids that imply their provider. */
const FAMILIES: readonly (readonly [RegExp, Provider])[] = [
  [/^claude-/, 'anthropic'],
  [/^(?:gpt-|o\d|codex-)/, 'openai'],
  [/^gemini-/, 'google'],
]

/** `model` is written as `provider/id`. */
interface NamedModel {
  readonly provider: Provider
  readonly model: string
}

/** Undefined if the text does not name or imply a provider. */
export function findModel(text: string): NamedModel | undefined {
  const name = own(ALIASES, text) ?? text
  const slash = name.indexOf('/')
  const word = name.slice(0, Math.max(0, slash))
  const provider = PROVIDERS.find(
    (each) => each === (word === 'openai-compatible' ? 'compatible' : word),
  )
  const id = name.slice(slash + 1)
  if (provider !== undefined && id !== '') return { provider, model: `${provider}/${id}` }
  const family = FAMILIES.find(([pattern]) => pattern.test(name))?.[1]
  return family === undefined ? undefined : { provider: family, model: `${family}/${name}` }
}

export function parseModel(text: string): NamedModel {
  const found = findModel(text)
  if (found !== undefined) return found
  throw new UserError(
    `Unknown provider for model '${text}'.`,
    `Use provider/model, for example 'openai/gpt-6-sol'. Providers: ${PROVIDERS.join(', ')}.`,
  )
}

/** Without the provider. */
export function modelId(model: string): string {
  return model.slice(model.indexOf('/') + 1)
}
