import { UserError } from '../../base/errors.ts'
import { parseJsonc } from '../../base/jsonc.ts'
import { didYouMean } from '../../base/nearest.ts'
import {
  AGENT_KEYS,
  makeChainSchema,
  makeChainsSchema,
  type ChainsConfig,
} from './chains-schema.ts'

/** Parses chains.json: JSON with comments and trailing commas. `file` is its name in messages. */
export function parseChainsFile(content: string, file: string): ChainsConfig {
  return parseJsonc(content, file, {
    schemaOf: (value) => {
      const keys = new Set(keysIn(value))
      return makeChainsSchema((key) => keys.has(key))
    },
    emptyHint: 'Write { "chains": {} } to it, or delete it.',
    suggest: (key, value) =>
      key === 'model' && typeof value === 'string'
        ? didYouMean(value, ['sonnet', 'opus', 'haiku'])
        : '',
    explainKey,
    // Only these fields of a notification cannot be the URL of a webhook by mistake.
    isSecret: (path) =>
      path.includes('notify') &&
      !['to', 'format', 'on', 'minWait'].some((key) => path.includes(key)),
  })
}

const OF_STEPS = ['agent', 'iterations', 'args']

/** Explains fields that are often written in the wrong place. */
function explainKey(key: string, [top, , ...deeper]: readonly (string | number)[]) {
  if (top === 'agents' && key === 'prompt') return " (did you mean 'defaultPrompt'?)"
  if (top === 'agents' && key === 'promptFile') return " (did you mean 'defaultPromptFile'?)"
  const isStep = top === 'chains' && deeper.length > 0
  if (!isStep && OF_STEPS.includes(key)) return ' here: it is a field of a step'
  if (top === 'chains' && AGENT_KEYS.includes(key))
    return ` here: it is a field of an agent: "agents": { "NAME": { "${key}": … } }`
  return undefined
}

/** All keys at any depth, with repetitions. */
function keysIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const parts = Object.values(value).flatMap(keysIn)
  return Array.isArray(value) ? parts : [...Object.keys(value), ...parts]
}

/** Refuses a chain passed to the library that would not be valid in chains.json. */
export function checkChain(chain: unknown): void {
  const [issue] = makeChainSchema().safeParse(chain, { jitless: true }).error?.issues ?? []
  if (issue === undefined) return
  const path = issue.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
  throw new UserError(`chain${path.join('')}: expected ${issue.message}.`)
}
