import { dirname } from 'node:path'
import { printable } from '../base/terminal/printable.ts'
import { shorten } from '../base/shorten.ts'
import { BUILT_IN_AGENTS, BUNDLED_AGENTS } from '../chain/builtins/agents.ts'
import { BUILT_IN_CHAINS } from '../chain/builtins/chains.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import { isDirectSpawnAgent } from '../chain/prompts/mode-awareness.ts'
import type { Input } from './command.ts'
import { makeAgentEnvironment } from '../engines/environment.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { readFacts } from '../host/facts.ts'
import { ownFolder } from '../host/own-folder.ts'
import { fileProblems, reachableFiles } from '../host/agent-file-problems.ts'
import { columns } from './help.ts'
import { configurationFor, projectOf } from './front-end.ts'

/** The command `list`. */
export async function listChains(input: Input): Promise<number> {
  const project = projectOf(input)
  const { folder: cwd } = project
  const { file, content } = await configurationFor(input, project)
  const chains = listed(content.chains, BUILT_IN_CHAINS).map(({ name, value, isBuiltIn }) => ({
    name,
    ...(value.description === undefined ? {} : { description: value.description }),
    steps: value.steps.map(({ agent, iterations }) =>
      iterations === undefined ? { agent } : { agent, iterations },
    ),
    isBuiltIn,
  }))
  const facts = readFacts(makeAgentEnvironment(process.env, ownFolder()))
  const agents = listAgents(content, cwd, facts)
  for (const { message } of fileProblems(cwd, facts)) {
    console.error(`[forkhestra] Warning: ${message}`)
  }
  if (input.flag('json')) {
    const shown = agents.map(({ name, kind, isBuiltIn, file: path }) => ({
      name,
      kind,
      isBuiltIn,
      ...(path === undefined ? {} : { file: path }),
    }))
    console.log(JSON.stringify({ file: file ?? null, chains, agents: shown }))
    return 0
  }
  const rows = chains.map(({ name, description, steps, isBuiltIn }) => {
    const dsl = steps.map(({ agent, iterations }) =>
      iterations ? `${agent}:${iterations}` : agent,
    )
    return { name, text: description ?? dsl.join(' -> '), isBuiltIn }
  })
  const kinds = agents.map((agent) => ({ ...agent, text: agent.kind }))
  if (input.flag('plain')) {
    for (const { name, text } of rows)
      console.log(`chain\t${name}\t${text.replaceAll(/\s+/g, ' ')}`)
    for (const { name, text } of kinds) console.log(`agent\t${printable(name)}\t${text}`)
    return 0
  }
  const own = <Row extends Listed>(all: readonly Row[]) => all.filter((row) => !row.isBuiltIn)
  const builtIn = <Row extends Listed>(all: readonly Row[]) => all.filter((row) => row.isBuiltIn)
  const sections = [
    ...(file === undefined ? [] : [[`Chains of ${file}:`, own(rows)] as const]),
    ['Agents:', own(kinds).filter(({ folder }) => folder === undefined)] as const,
    ...folders(agents).map((folder) => [`Agents of ${folder}:`, rowsOf(folder, agents)] as const),
    ['Built-in chains:', builtIn(rows)] as const,
    ['Built-in agents:', builtIn(kinds)] as const,
  ].filter(([title, section]) => section.length > 0 || title.startsWith('Chains of'))
  console.log(sections.map(([title, section]) => renderSection(title, section)).join('\n\n'))
  return 0
}

interface Listed {
  readonly name: string
  readonly isBuiltIn: boolean
}

/** What the configuration defines, then what is there besides. */
function listed<Value>(
  own: Readonly<Record<string, Value>>,
  builtIn: Readonly<Record<string, Value>>,
): (Listed & { readonly value: Value })[] {
  const others = Object.entries(builtIn).filter(([name]) => !Object.hasOwn(own, name))
  return [
    ...Object.entries(own).map(([name, value]) => ({ name, value, isBuiltIn: false })),
    ...others.map(([name, value]) => ({ name, value, isBuiltIn: true })),
  ]
}

interface ListedAgent extends Listed {
  readonly kind: string
  /** Of an agent of Claude Code: its file and, where that alone defines it, the folder of the file. */
  readonly file?: string
  readonly folder?: string
  readonly description?: string
}

function listAgents(content: ChainsConfig, cwd: string, facts: Facts): ListedAgent[] {
  const { agents = {} } = content
  const files = reachableFiles(content, cwd, facts)
  const own = Object.entries(agents).map(([name, agent]) => {
    const file = files.get(name)?.path
    const isDirect =
      file !== undefined ||
      isDirectSpawnAgent(agent) ||
      Object.hasOwn({ ...BUILT_IN_AGENTS, ...BUNDLED_AGENTS }, name)
    const kind = agent.engine === 'native' ? 'native' : isDirect ? 'direct' : 'binary'
    return { name, kind, isBuiltIn: false, ...(file === undefined ? {} : { file }) }
  })
  const isOther = (name: string) => !Object.hasOwn(agents, name)
  const all = [...Object.keys(BUILT_IN_AGENTS), ...Object.keys(BUNDLED_AGENTS).filter(isLong)]
  const builtIn = all.filter((name) => isOther(name) && !files.has(name))
  const direct = { kind: 'direct', isBuiltIn: false }
  return [
    ...own,
    ...[...files.values()]
      .filter(({ name }) => isOther(name))
      .map(({ path: file, ...rest }) => ({ ...rest, ...direct, file, folder: dirname(file) })),
    ...builtIn.map((name) => ({ name, kind: 'direct', isBuiltIn: true })),
  ]
}

function folders(agents: readonly ListedAgent[]): string[] {
  return [...new Set(agents.flatMap(({ folder }) => folder ?? []))]
}

const DESCRIPTION_WIDTH = 80

function rowsOf(folder: string, agents: readonly ListedAgent[]) {
  return agents
    .filter((agent) => agent.folder === folder)
    .map(({ name, description = 'direct' }) => ({
      name: printable(name),
      text: shorten(printable(description).trim(), DESCRIPTION_WIDTH),
    }))
}

/** The same agent also has a shorter name. */
const isLong = (name: string) => name.startsWith('forge-')

function renderSection(
  title: string,
  rows: readonly { readonly name: string; readonly text: string }[],
): string {
  const lines = rows.length === 0 ? ['  none'] : columns(rows.map(({ name, text }) => [name, text]))
  return [title, ...lines].join('\n')
}
