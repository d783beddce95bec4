import { shorten } from '../base/shorten.ts'
import { printable } from '../base/terminal/printable.ts'
import { availableAgents, availableChains, type ListedAgent } from '../host/available.ts'
import { fileProblems } from '../host/check-configuration.ts'
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
  const chains = availableChains(content)
  const agents = availableAgents(content, project.folder, facts)
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

/** What belongs to the project comes first. */
function renderSections(
  file: string | undefined,
  chains: ReturnType<typeof availableChains>,
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
