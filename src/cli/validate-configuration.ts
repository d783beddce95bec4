import type { Problem } from '../base/errors.ts'
import { makeAgentEnvironment } from '../engines/environment.ts'
import type { AgentFile } from '../parse/agent-file.ts'
import type { ChainsConfig } from '../parse/chains-schema.ts'
import { parseTemplate, variablesOf } from '../parse/template.ts'
import type { Facts } from '../plan/facts.ts'
import { chooseOnFail, makeOnFail } from '../plan/on-fail.ts'
import { collect, PlanError } from '../plan/problems.ts'
import { missingAgentFiles, resolveAgent } from '../plan/resolve-agent.ts'
import { fileProblems, fileWords, reachableFiles } from './agent-files.ts'
import type { Input } from './command.ts'
import { configurationFor, projectOf } from './project.ts'
import type { Project } from '../setup/project.ts'
import type { Configuration } from '../setup/configuration.ts'
import { lookAround } from '../setup/facts.ts'
import { ownFolder } from '../setup/own-folder.ts'

/** The verb `validate`: everything that can be known of a configuration without running it. */
export async function validateConfiguration(input: Input): Promise<number> {
  const project = projectOf(input)
  const { folder: cwd } = project
  const facts = lookAround(makeAgentEnvironment(process.env, ownFolder()))
  const others = fileProblems(cwd, facts)
  const configuration = await checkConfiguration(input, project, facts, others)
  report(input, configuration, reachableFiles(configuration.content, cwd, facts))
  return 0
}

/** The configuration that applies, or all that is wrong with it and what else was found. */
export async function checkConfiguration(
  input: Input,
  project: Project,
  facts: Facts,
  others: readonly Problem[] = [],
): Promise<Configuration> {
  const configuration = await configurationFor(input, project)
  const problems = [...findProblems(configuration, project.folder, facts), ...others]
  if (problems.length > 0) throw new PlanError(problems)
  return configuration
}

function report(
  input: Input,
  { file, content }: Configuration,
  files: ReadonlyMap<string, AgentFile>,
): void {
  const chains = Object.keys(content.chains).length
  const agents = Object.keys(content.agents ?? {}).length
  if (input.flag('json')) {
    const agentFiles = [...files.values()].map(({ name, path }) => ({ name, file: path }))
    console.log(JSON.stringify({ ok: true, file: file ?? null, chains, agents, agentFiles }))
    return
  }
  if (file === undefined) console.log('There is no configuration here; nothing to check.')
  else console.log(`${file} is valid: chains ${chains}, agents ${agents}.`)
  if (files.size > 0) console.log(`Agents of Claude Code: ${fileWords(files)}.`)
}

function findProblems({ content, base }: Configuration, cwd: string, facts: Facts): Problem[] {
  const problems: Problem[] = []
  for (const [name, agent] of Object.entries(content.agents ?? {})) {
    problems.push(...missingAgentFiles(name, agent, base, facts, cwd))
  }
  for (const agent of new Set([...usedAgents(content), ...nativeAgents(content)])) {
    collect(problems, () =>
      resolveAgent(agent, { cwd, agents: content.agents ?? {}, base, agentBase: base }, facts),
    )
  }
  for (const levels of policyLevels(content)) {
    collect(problems, () => makeOnFail(levels, () => 0))
  }
  for (const file of promptFiles(content)) {
    // What a variable will make of the path cannot be known here.
    if (variablesOf(parseTemplate(file)).length > 0) continue
    collect(problems, () => facts.readPrompt(file, base))
  }
  return problems
}

function policyLevels({ chains, agents = {} }: ChainsConfig) {
  return Object.entries(chains).flatMap(([name, chain]) =>
    chain.steps.map((step) => {
      const agent = Object.hasOwn(agents, step.agent) ? agents[step.agent] : undefined
      return { name, step, chain, agent: agent ?? {} }
    }),
  )
}

/** Whether these can start is known without looking at the machine, whoever calls them. */
function nativeAgents({ agents = {} }: ChainsConfig): string[] {
  return Object.keys(agents).filter((name) => agents[name]?.engine === 'native')
}

/** The agents of the steps, and those that run where one fails. */
function usedAgents(content: ChainsConfig): Set<string> {
  return new Set(
    policyLevels(content).flatMap((levels) => {
      const onFail = chooseOnFail(levels)
      const { agent } = levels.step
      return typeof onFail === 'object' && 'run' in onFail ? [agent, onFail.run] : [agent]
    }),
  )
}

function promptFiles({ chains, agents = {} }: ChainsConfig): Set<string> {
  const files = [
    ...Object.values(agents).map((agent) => agent.defaultPromptFile),
    ...Object.values(chains).flatMap(({ promptFile, steps }) => [
      promptFile,
      ...steps.map((step) => step.promptFile),
    ]),
  ]
  return new Set(files.filter((file) => file !== undefined).filter((file) => file !== ''))
}
