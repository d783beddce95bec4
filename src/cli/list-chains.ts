import { BUILT_IN_AGENTS, BUNDLED_AGENTS } from '../builtins/agents.ts'
import { BUILT_IN_CHAINS } from '../builtins/chains.ts'
import type { ChainsConfig } from '../parse/chains-schema.ts'
import { isDirectSpawnAgent } from '../prompt/mode-awareness.ts'
import type { Input } from './command.ts'
import { loadConfiguration, resolveCwd } from '../setup/configuration.ts'
import { columns } from './help.ts'

/** The verb `list`. */
export async function listChains(input: Input): Promise<number> {
  const cwd = resolveCwd(input.text('cwd'))
  const { file, content } = await loadConfiguration(cwd, input.text('config'), process.env)
  const chains = listed(content.chains, BUILT_IN_CHAINS).map(({ name, value, isBuiltIn }) => ({
    name,
    ...(value.description === undefined ? {} : { description: value.description }),
    steps: value.steps.map(({ agent, iterations }) =>
      iterations === undefined ? { agent } : { agent, iterations },
    ),
    isBuiltIn,
  }))
  const agents = listAgents(content)
  if (input.flag('json')) {
    console.log(JSON.stringify({ file: file ?? null, chains, agents }))
    return 0
  }
  const rows = chains.map(({ name, description, steps, isBuiltIn }) => {
    const dsl = steps.map(({ agent, iterations }) =>
      iterations ? `${agent}:${iterations}` : agent,
    )
    return { name, text: description ?? dsl.join(' -> '), isBuiltIn }
  })
  const kinds = agents.map(({ name, kind, isBuiltIn }) => ({ name, text: kind, isBuiltIn }))
  if (input.flag('plain')) {
    for (const { name, text } of rows)
      console.log(`chain\t${name}\t${text.replaceAll(/\s+/g, ' ')}`)
    for (const { name, text } of kinds) console.log(`agent\t${name}\t${text}`)
    return 0
  }
  const own = <Row extends Listed>(all: readonly Row[]) => all.filter((row) => !row.isBuiltIn)
  const builtIn = <Row extends Listed>(all: readonly Row[]) => all.filter((row) => row.isBuiltIn)
  const sections = [
    ...(file === undefined ? [] : [[`Chains of ${file}:`, own(rows)] as const]),
    ['Agents:', own(kinds)] as const,
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

function listAgents({ agents = {} }: ChainsConfig): (Listed & { readonly kind: string })[] {
  const own = Object.entries(agents).map(([name, agent]) => {
    const isDirect =
      isDirectSpawnAgent(agent) || Object.hasOwn({ ...BUILT_IN_AGENTS, ...BUNDLED_AGENTS }, name)
    return { name, kind: isDirect ? 'direct' : 'binary', isBuiltIn: false }
  })
  const all = [...Object.keys(BUILT_IN_AGENTS), ...Object.keys(BUNDLED_AGENTS).filter(isLong)]
  const others = all.filter((name) => !Object.hasOwn(agents, name))
  return [...own, ...others.map((name) => ({ name, kind: 'direct', isBuiltIn: true }))]
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
