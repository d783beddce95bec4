import { basename } from 'node:path'
import { BrokenConfig, configPath, findUnknownKeys, readConfig } from '../store/config.ts'
import type { Check } from './finding.ts'

/** An invalid configuration or unknown keys in it, which only a person can fix. */
export const configuration: Check = {
  find: (places) => {
    try {
      readConfig(places)
      return findUnknownKeys(places).map((key) => ({
        file: basename(configPath(places)),
        problem: `unknown key "${key}"; known keys: prefix, name, defaults (priority, labels)`,
      }))
    } catch (error) {
      if (!(error instanceof BrokenConfig)) throw error
      return [{ file: basename(configPath(places)), problem: error.problem }]
    }
  },

  fix: () => [],
}
