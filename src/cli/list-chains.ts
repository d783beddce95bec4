import { isDirectSpawnAgent } from '../prompt/mode-awareness.ts'
import type { Input } from './command.ts'
import { loadConfiguration, resolveCwd } from '../setup/configuration.ts'
import { columns } from './help.ts'

/** The verb `list`. */
export async function listChains(input: Input): Promise<number> {
  const cwd = resolveCwd(input.text('cwd'))
  const { file, content } = await loadConfiguration(cwd, input.text('config'), process.env)
  const chains = Object.entries(content.chains).map(([name, { description, steps }]) => ({
    name,
    ...(description === undefined ? {} : { description }),
    steps: steps.map(({ agent, iterations }) =>
      iterations === undefined ? { agent } : { agent, iterations },
    ),
  }))
  const agents = Object.entries(content.agents ?? {}).map(([name, agent]) => ({
    name,
    kind: isDirectSpawnAgent(agent) ? 'direct' : 'binary',
  }))
  if (input.flag('json')) {
    console.log(JSON.stringify({ file: file ?? null, chains, agents }))
    return 0
  }
  const rows = chains.map(({ name, description, steps }) => {
    const dsl = steps.map(({ agent, iterations }) =>
      iterations ? `${agent}:${iterations}` : agent,
    )
    return { name, text: description ?? dsl.join(' -> ') }
  })
  if (input.flag('plain')) {
    for (const { name, text } of rows)
      console.log(`chain\t${name}\t${text.replaceAll(/\s+/g, ' ')}`)
    for (const { name, kind } of agents) console.log(`agent\t${name}\t${kind}`)
    return 0
  }
  if (file === undefined) {
    console.log('There is no configuration here. Write chains into forge/orch/chains.json.')
    return 0
  }
  console.log(`Chains of ${file}:`)
  if (rows.length === 0) console.log('  none')
  else console.log(columns(rows.map(({ name, text }) => [name, text] as const)).join('\n'))
  if (agents.length > 0) {
    console.log(
      `\nAgents:\n${columns(agents.map(({ name, kind }) => [name, kind] as const)).join('\n')}`,
    )
  }
  return 0
}
