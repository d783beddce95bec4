import { dirname } from 'node:path'
import { dropUndefined } from '../base/objects.ts'
import { BUILT_IN_AGENTS, BUNDLED_AGENTS } from '../chain/builtins/agents.ts'
import { BUILT_IN_CHAINS } from '../chain/builtins/chains.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import { agentSteps, describeItems } from '../chain/parse/items.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { isDirectSpawnAgent } from '../chain/prompts/system-prompt.ts'
import { reachableFiles } from './check-configuration.ts'

/** The chains that a project can run: its own, and built-in ones. */
export function availableChains({ chains }: ChainsConfig) {
  return Object.entries({ ...chains, ...BUILT_IN_CHAINS, ...chains }).map(
    ([name, { description, steps }]) => ({
      name,
      description,
      text: describeItems(steps),
      steps: agentSteps(steps).map(({ agent, iterations }) => ({ agent, iterations })),
      isBuiltIn: !Object.hasOwn(chains, name),
    }),
  )
}

export interface ListedAgent {
  readonly name: string
  readonly kind: string
  readonly isBuiltIn: boolean
  /** The file of a Claude Code agent. */
  readonly file?: string | undefined
  readonly folder?: string
  readonly description?: string
}

/** The agents that a project can run without a path: configured, from files of Claude Code, and built-in ones. */
export function availableAgents(content: ChainsConfig, cwd: string, facts: Facts): ListedAgent[] {
  const { agents = {} } = content
  const files = reachableFiles(content, cwd, facts)
  const isOther = (name: string) => !Object.hasOwn(agents, name)
  const own = Object.entries(agents).map(([name, agent]) => {
    const { path: file, description } = files.get(name) ?? {}
    const isDirect =
      file !== undefined ||
      isDirectSpawnAgent(agent) ||
      Object.hasOwn({ ...BUILT_IN_AGENTS, ...BUNDLED_AGENTS }, name)
    const kind = agent.engine === 'native' ? 'native' : isDirect ? 'direct' : 'binary'
    const place = file === undefined ? {} : { file, folder: dirname(file) }
    return { name, kind, isBuiltIn: false, ...place, ...dropUndefined({ description }) }
  })
  const inFiles = [...files.values()]
    .filter(({ name }) => isOther(name))
    .map(({ path: file, ...agent }) => {
      return { ...agent, kind: 'direct', isBuiltIn: false, file, folder: dirname(file) }
    })
  // A bundled agent also has a shorter name.
  const bundled = Object.keys(BUNDLED_AGENTS).filter((name) => name.startsWith('forge-'))
  const builtIn = [...Object.keys(BUILT_IN_AGENTS), ...bundled]
    .filter((name) => isOther(name) && !files.has(name))
    .map((name) => ({ name, kind: 'direct', isBuiltIn: true }))
  return [...own, ...inFiles, ...builtIn]
}
