import { parseJsonc } from '../base/jsonc.ts'
import { didYouMean } from '../base/nearest.ts'
import { makeChainsSchema, type ChainsConfig } from './chains-schema.ts'

/** Reads a chains.json: JSON with comments and trailing commas. `file` is its name in messages. */
export function parseChainsFile(content: string, file: string): ChainsConfig {
  return parseJsonc(content, file, {
    schemaOf: (value) => {
      const keys = new Set(keysIn(value))
      return makeChainsSchema((key) => keys.has(key))
    },
    emptyHint: 'Write { "chains": {} } into it, or delete it.',
    suggest: (key, value) =>
      key === 'model' && typeof value === 'string'
        ? didYouMean(value, ['sonnet', 'opus', 'haiku'])
        : '',
  })
}

/** Every key, wherever it is; the same one may come again. */
function keysIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const parts = Object.values(value).flatMap(keysIn)
  return Array.isArray(value) ? parts : [...Object.keys(value), ...parts]
}
