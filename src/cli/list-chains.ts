import { dirname } from 'node:path'
import { shorten } from '../base/shorten.ts'
import { printable } from '../base/terminal/printable.ts'
import { BUILT_IN_AGENTS, BUNDLED_AGENTS } from '../chain/builtins/agents.ts'
import { BUILT_IN_CHAINS } from '../chain/builtins/chains.ts'
import type { ChainConfig, ChainsConfig } from '../chain/parse/chains-schema.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { isDirectSpawnAgent } from '../chain/prompts/system-prompt.ts'
import { makeAgentEnvironment } from '../engines/environment.ts'
import { fileProblems, reachableFiles } from '../host/check-configuration.ts'
import { readFacts } from '../host/facts.ts'
import { ownFolder } from '../host/own-folder.ts'
import type { Input } from './command.ts'
import { configurationFor, projectOf } from './front-end.ts'
import { columns } from './help.ts'

const DESCRIPTION_WIDTH = 80

export async function listChains(input: Input): Promise<number> {
  const project = projectOf(input)
  const { folder: cwd } = project
  const { file, content } = await configurationFor(input, project)
  const others = Object.entries(BUILT_IN_CHAINS).filter(
    ([name]) => !Object.hasOwn(content.chains, name),
  )
  const chains = [
    ...Object.entries(content.chains).map((chain) => describeChain(chain, false)),
    ...others.map((chain) => describeChain(chain, true)),
  ]
  const facts = readFacts(makeAgentEnvironment(process.env, ownFolder()))
  const agents = listAgents(content, cwd, facts)
  for (const { message } of fileProblems(cwd, facts)) {
    console.error(`[forkhestra] Warning: ${message}`)
  }
  if (input.flag('json')) {
    const shown = agents.map(({ name, kind, isBuiltIn, file: path }) => {
      return { name, kind, isBuiltIn, file: path }
    })
    console.log(JSON.stringify({ file: file ?? null, chains, agents: shown }))
    return 0
  }
  const chainRows = chains.map(({ name, description, steps, isBuiltIn }) => {
    const dsl = steps.map(({ agent, iterations: max }) => (max ? `${agent}:${max}` : agent))
    const section = isBuiltIn ? 'Built-in chains' : `Chains of ${file}`
    return { section, name, text: description ?? dsl.join(' -> ') }
  })
  if (input.flag('plain')) {
    for (const { name, text } of chainRows)
      console.log(`chain\t${name}\t${text.replaceAll(/\s+/g, ' ')}`)
    for (const { name, kind } of agents) console.log(`agent\t${printable(name)}\t${kind}`)
    return 0
  }
  const agentRows = agents.map(({ name, kind, isBuiltIn, folder, description = 'direct' }) => {
    if (folder === undefined)
      return { section: isBuiltIn ? 'Built-in agents' : 'Agents', name, text: kind }
    const text = shorten(printable(description).trim(), DESCRIPTION_WIDTH)
    return { section: `Agents of ${folder}`, name: printable(name), text }
  })
  const all = [...chainRows, ...agentRows]
  const isBuiltIn = ({ section }: { readonly section: string }) => section.startsWith('Built-in')
  const rows = [...all.filter((row) => !isBuiltIn(row)), ...all.filter(isBuiltIn)]
  const sections = Map.groupBy(rows, ({ section }) => section)
  const none = `Chains of ${file}`
  const shown = [...sections].map(([title, listed]) =>
    [`${title}:`, ...columns(listed.map(({ name, text }) => [name, text]))].join('\n'),
  )
  if (file !== undefined && !sections.has(none)) shown.unshift(`${none}:\n  none`)
  console.log(shown.join('\n\n'))
  return 0
}

function describeChain([name, chain]: [string, ChainConfig], isBuiltIn: boolean) {
  const steps = chain.steps.map(({ agent, iterations }) => ({ agent, iterations }))
  return { name, description: chain.description, steps, isBuiltIn }
}

interface ListedAgent {
  readonly name: string
  readonly kind: string
  readonly isBuiltIn: boolean
  /** The file of a Claude Code agent. */
  readonly file?: string | undefined
  /** The folder of that file, if nothing else defines the agent. */
  readonly folder?: string
  readonly description?: string
}

function listAgents(content: ChainsConfig, cwd: string, facts: Facts): ListedAgent[] {
  const { agents = {} } = content
  const files = reachableFiles(content, cwd, facts)
  const isOther = (name: string) => !Object.hasOwn(agents, name)
  const own = Object.entries(agents).map(([name, agent]) => {
    const file = files.get(name)?.path
    const isDirect =
      file !== undefined ||
      isDirectSpawnAgent(agent) ||
      Object.hasOwn({ ...BUILT_IN_AGENTS, ...BUNDLED_AGENTS }, name)
    const kind = agent.engine === 'native' ? 'native' : isDirect ? 'direct' : 'binary'
    return { name, kind, isBuiltIn: false, file }
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
