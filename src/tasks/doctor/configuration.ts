import { basename } from 'node:path'
import { BrokenConfig, configPath, findUnknownKeys, readConfig } from '../store/config.ts'
import type { Ailment } from './finding.ts'

/** A configuration that cannot be used, or says what nobody understands. What it should say only a person knows. */
export const configuration: Ailment = {
  find: (places) => {
    try {
      readConfig(places)
      return findUnknownKeys(places).map((key) => ({
        file: basename(configPath(places)),
        problem: `the key "${key}" means nothing; known: prefix, name, defaults (priority, labels)`,
      }))
    } catch (error) {
      if (!(error instanceof BrokenConfig)) throw error
      return [{ file: basename(configPath(places)), problem: error.problem }]
    }
  },

  mend: () => [],
}
