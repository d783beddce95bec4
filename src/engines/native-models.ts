import { UserError } from '../base/errors.ts'
import type { Provider } from './engine.ts'

const PROVIDERS: readonly Provider[] = ['anthropic', 'openai', 'google', 'compatible']

/** Where a provider's key and address are usually found, the first that is set. */
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

/** Names for people who do not care which version it is. */
const ALIASES: Readonly<Record<string, string>> = {
  sonnet: 'anthropic/claude-sonnet-5-5',
  opus: 'anthropic/claude-opus-5-5',
  haiku: 'anthropic/claude-haiku-5-5',
}

/** Ids that tell by themselves whose they are. */
const FAMILIES: readonly (readonly [RegExp, Provider])[] = [
  [/^claude-/, 'anthropic'],
  [/^(?:gpt-|o\d|codex-)/, 'openai'],
  [/^gemini-/, 'google'],
]

/** A model whose provider is known; its name is `provider/id`. */
export interface NamedModel {
  readonly provider: Provider
  readonly model: string
}

/** Undefined where the text does not say whose model it is. */
export function findModel(text: string): NamedModel | undefined {
  const name = Object.hasOwn(ALIASES, text) ? ALIASES[text]! : text
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

/** The same for a text that has to say it. */
export function parseModel(text: string): NamedModel {
  const found = findModel(text)
  if (found !== undefined) return found
  throw new UserError(
    `The model ${JSON.stringify(text)} does not say whose it is.`,
    `Write provider/model, e.g. "openai/gpt-6-sol"; providers are ${PROVIDERS.join(', ')}.`,
  )
}

/** As its provider calls it. */
export function modelId(model: string): string {
  return model.slice(model.indexOf('/') + 1)
}
