import { basename } from 'node:path'
import { BrokenConfig, configPath, readConfig } from '../store/config.ts'
import type { Ailment } from './finding.ts'

/** A configuration that cannot be used. What it should say only a person knows. */
export const configuration: Ailment = {
  find: (places) => {
    try {
      readConfig(places)
      return []
    } catch (error) {
      if (!(error instanceof BrokenConfig)) throw error
      return [{ file: basename(configPath(places)), problem: error.problem }]
    }
  },

  mend: () => [],
}
