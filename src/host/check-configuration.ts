import type { Problem } from '../base/errors.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import { parseTemplate, variablesOf } from '../chain/parse/template.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { chooseOnFail, makeOnFail } from '../chain/plan/make-policy.ts'
import { collect, PlanError } from '../chain/plan/problems.ts'
import { missingAgentFiles, resolveAgent } from '../chain/plan/resolve-agent.ts'
import { loadConfiguration, type Configuration } from './configuration.ts'
import type { Project } from './project.ts'

/** The configuration that applies, or all that is wrong with it and what else was found. */
export async function checkConfiguration(
  project: Project,
  config: string | undefined,
  facts: Facts,
  others: readonly Problem[] = [],
): Promise<Configuration> {
  const configuration = await loadConfiguration(project.folder, config, process.env)
  const problems = [...findProblems(configuration, project.folder, facts), ...others]
  if (problems.length > 0) throw new PlanError(problems)
  return configuration
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

/** Native agents can be checked without looking at the machine. */
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
