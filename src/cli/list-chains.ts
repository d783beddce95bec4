import { dirname } from 'node:path'
import { dropUndefined } from '../base/objects.ts'
import { shorten } from '../base/shorten.ts'
import { printable } from '../base/terminal/printable.ts'
import { BUILT_IN_AGENTS, BUNDLED_AGENTS } from '../chain/builtins/agents.ts'
import { BUILT_IN_CHAINS } from '../chain/builtins/chains.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import { agentSteps, describeItems } from '../chain/parse/items.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { isDirectSpawnAgent } from '../chain/prompts/system-prompt.ts'
import { fileProblems, reachableFiles } from '../host/check-configuration.ts'
import { readFacts } from '../host/facts.ts'
import { agentEnvironment } from '../host/own-folder.ts'
import type { Input } from './command.ts'
import { configurationFor, projectOf } from './front-end.ts'
import { renderTable } from '../views/table.ts'
import type { Layout } from '../views/layout.ts'
import { printPainted, stdoutLayout } from './print.ts'

const DESCRIPTION_WIDTH = 80

export async function listChains(input: Input): Promise<number> {
  const project = projectOf(input)
  const { file, content } = await configurationFor(input, project)
  const facts = readFacts(agentEnvironment(process.env))
  const chains = chainsIn(content)
  const agents = listAgents(content, project.folder, facts)
  for (const { message } of fileProblems(project.folder, facts)) {
    console.error(`[forkhestra] Warning: ${message}`)
  }
  if (input.flag('json')) {
    const shown = agents.map(({ name, kind, isBuiltIn, file: path, description }) => {
      return { name, kind, isBuiltIn, file: path, description }
    })
    console.log(JSON.stringify({ file: file ?? null, chains, agents: shown }))
  } else if (input.flag('plain')) {
    for (const { name, description, text } of chains)
      console.log(`chain\t${name}\t${(description ?? text).replaceAll(/\s+/g, ' ')}`)
    for (const { name, kind } of agents) console.log(`agent\t${printable(name)}\t${kind}`)
  } else {
    printPainted(renderSections(file, chains, agents, stdoutLayout()))
  }
  return 0
}

function chainsIn({ chains }: ChainsConfig) {
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

/** What belongs to the project comes first. */
function renderSections(
  file: string | undefined,
  chains: ReturnType<typeof chainsIn>,
  agents: readonly ListedAgent[],
  layout: Layout,
): string[] {
  const ofFile = `Chains in ${file}`
  const chainRows = chains.map(({ name, description, text, isBuiltIn }) => {
    const section = isBuiltIn ? 'Built-in chains' : ofFile
    return { section, name, text: description ?? text, isBuiltIn }
  })
  const agentRows = agents.map(({ name, kind, isBuiltIn, folder, description = kind }) => {
    if (folder === undefined)
      return { section: isBuiltIn ? 'Built-in agents' : 'Agents', name, text: kind, isBuiltIn }
    const text = shorten(printable(description).trim(), DESCRIPTION_WIDTH)
    return { section: `Agents in ${folder}`, name: printable(name), text, isBuiltIn }
  })
  const rows = [...chainRows, ...agentRows]
  const ordered = rows.toSorted((a, b) => Number(a.isBuiltIn) - Number(b.isBuiltIn))
  const sections = Map.groupBy(ordered, ({ section }) => section)
  const shown = [...sections].map(([title, listed]) => [
    `${layout.paint.bold(printable(title))}:`,
    ...renderTable(
      listed.map(({ name, text }) => [name, text]),
      { indent: '  ', flexible: 1, layout },
    ),
  ])
  if (file !== undefined && !sections.has(ofFile))
    shown.unshift([`${layout.paint.bold(printable(ofFile))}:`, '  none'])
  return shown.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]))
}

interface ListedAgent {
  readonly name: string
  readonly kind: string
  readonly isBuiltIn: boolean
  /** The file of a Claude Code agent. */
  readonly file?: string | undefined
  readonly folder?: string
  readonly description?: string
}

function listAgents(content: ChainsConfig, cwd: string, facts: Facts): ListedAgent[] {
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
