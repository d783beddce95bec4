import { parseJsonc } from '../base/jsonc.ts'
import { didYouMean } from '../base/nearest.ts'
import { chainsSchema, type ChainsConfig } from './chains-schema.ts'

/** Reads a chains.json: JSON with comments and trailing commas. `file` is its name in messages. */
export function parseChainsFile(content: string, file: string): ChainsConfig {
  return parseJsonc(content, file, {
    schemaOf: () => chainsSchema,
    emptyHint: 'Write { "chains": {} } into it, or delete it.',
    suggest: (key, value) =>
      key === 'model' && typeof value === 'string'
        ? didYouMean(value, ['sonnet', 'opus', 'haiku'])
        : '',
  })
}
