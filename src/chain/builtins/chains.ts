import type { ChainConfig } from '../parse/chains-schema.ts'

export const BUILT_IN_CHAINS: Readonly<Record<string, ChainConfig>> = {
  'build-all': {
    description: 'Plan tasks from the specs, then build them one by one',
    steps: [
      { agent: 'planner', iterations: 3 },
      { agent: 'builder', iterations: 20 },
    ],
  },
  build: {
    description: 'Build the tasks that are ready, one by one',
    steps: [{ agent: 'builder', iterations: 30 }],
  },
  plan: {
    description: 'Plan tasks from the specs without building them',
    steps: [{ agent: 'planner', iterations: 5 }],
  },
  ralph: {
    description: 'Plan tasks from the specs in ralph/, then build them one by one',
    steps: [
      { agent: 'fk:planner', iterations: 3 },
      { agent: 'fk:builder', iterations: 20 },
    ],
  },
}
