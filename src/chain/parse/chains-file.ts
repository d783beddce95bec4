import { UserError } from '../../base/errors.ts'
import { parseJsonc } from '../../base/jsonc.ts'
import { didYouMean } from '../../base/nearest.ts'
import { chainSchema, chainsSchema, type ChainsConfig } from './chains-schema.ts'

/** Parses chains.json: JSON with comments and trailing commas. `file` is its name in messages. */
export function parseChainsFile(content: string, file: string): ChainsConfig {
  return parseJsonc(content, file, {
    schemaOf: () => chainsSchema,
    emptyHint: 'Write { "chains": {} } to it, or delete it.',
    suggest: (key, value) =>
      key === 'model' && typeof value === 'string'
        ? didYouMean(value, ['sonnet', 'opus', 'haiku'])
        : '',
  })
}

/** Refuses a chain of a library user that would not be valid in chains.json. */
export function checkChain(chain: unknown): void {
  const [issue] = chainSchema.safeParse(chain, { jitless: true }).error?.issues ?? []
  if (issue === undefined) return
  const path = issue.path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
  throw new UserError(`chain${path.join('')}: expected ${issue.message}.`)
}
