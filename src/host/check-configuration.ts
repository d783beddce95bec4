import { counted } from '../base/amounts.ts'
import type { Problem } from '../base/errors.ts'
import { printable } from '../base/terminal/printable.ts'
import { BUILT_IN_AGENTS, BUNDLED_AGENTS } from '../chain/builtins/agents.ts'
import { BUILT_IN_CHAINS } from '../chain/builtins/chains.ts'
import type { AgentFile } from '../chain/parse/agent-file.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import { agentSteps, allLists, expandChain } from '../chain/parse/items.ts'
import { parseTemplate, variablesOf } from '../chain/parse/template.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { chooseOnFail, makeOnFail } from '../chain/plan/make-policy.ts'
import { collect, PlanError } from '../chain/plan/problems.ts'
import { missingAgentFiles, resolveAgent } from '../chain/plan/resolve-agent.ts'
import { isDirectSpawnAgent } from '../chain/prompts/system-prompt.ts'
import { loadConfiguration, type Configuration } from './configuration.ts'
import type { FrontEnd } from './front-end.ts'
import type { Project } from './project.ts'

/** Loads the configuration, and throws everything that is wrong with it, together with `others`. */
export async function checkConfiguration(
  project: Project,
  config: string | undefined,
  facts: Facts,
  env: FrontEnd['env'],
  others: readonly Problem[] = [],
): Promise<Configuration> {
  const configuration = await loadConfiguration(project.folder, config, env)
  const problems = [...findProblems(configuration, project.folder, facts), ...others]
  if (problems.length > 0) throw new PlanError(problems)
  return configuration
}

/** `1 chain, no agents`. */
export function describeSize({ chains, agents = {} }: ChainsConfig): string {
  const of = (all: object, word: string) =>
    counted(Object.keys(all).length, word).replace(/^0 /, 'no ')
  return `${of(chains, 'chain')}, ${of(agents, 'agent')}`
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
  for (const { onFail, list, owner, chain } of failures(content)) {
    const targets = { items: list, numbers: list.map((_, index) => index + 1) }
    collect(problems, () => makeOnFail(onFail, targets, { owner, chain }, () => 0))
  }
  for (const [name, chain] of Object.entries(content.chains)) {
    collect(problems, () => expandChain(chain, { ...BUILT_IN_CHAINS, ...content.chains }, name))
  }
  for (const file of promptFiles(content)) {
    // The values of variables are not known here.
    if (variablesOf(parseTemplate(file)).length > 0) continue
    collect(problems, () => facts.readPrompt(file, base))
  }
  return problems
}

/** Missing programs that no chain uses: they may be for another machine. */
export function missingPrograms(
  { content, base }: Configuration,
  cwd: string,
  facts: Facts,
): Problem[] {
  const { agents = {} } = content
  const others = { ...BUILT_IN_AGENTS, ...BUNDLED_AGENTS }
  const checked = new Set([
    ...usedAgents(content),
    ...nativeAgents(content),
    ...Object.keys(others),
  ])
  const problems: Problem[] = []
  for (const [name, agent] of Object.entries(agents)) {
    if (checked.has(name) || isDirectSpawnAgent(agent)) continue
    collect(problems, () => resolveAgent(name, { cwd, agents, base, agentBase: base }, facts))
  }
  return problems
}

/** The `onFail` of each step and group. */
function failures({ chains, agents = {} }: ChainsConfig) {
  return Object.entries(chains).flatMap(([name, chain]) =>
    allLists(chain.steps).flatMap((list) =>
      list.map((item) => {
        const config =
          'agent' in item && Object.hasOwn(agents, item.agent) ? agents[item.agent] : {}
        const own = list === chain.steps ? chain : {}
        const onFail = chooseOnFail({ step: item, chain: own, agent: config ?? {} })
        const owner = `'${'agent' in item ? item.agent : (item.name ?? 'a group')}'`
        return { onFail, list, owner, chain: name }
      }),
    ),
  )
}

/** Native agents are checked even if no chain uses them, because that needs nothing from the machine. */
function nativeAgents({ agents = {} }: ChainsConfig): string[] {
  return Object.keys(agents).filter((name) => agents[name]?.engine === 'native')
}

/** The agents of the steps, and recovery agents. */
function usedAgents(content: ChainsConfig): Set<string> {
  const steps = Object.values(content.chains).flatMap((chain) => agentSteps(chain.steps))
  const recoveries = failures(content).flatMap(({ onFail }) =>
    typeof onFail === 'object' && 'run' in onFail ? [onFail.run] : [],
  )
  return new Set([...steps.map(({ agent }) => agent), ...recoveries])
}

function promptFiles({ chains, agents = {} }: ChainsConfig): Set<string> {
  const files = [
    ...Object.values(agents).map((agent) => agent.defaultPromptFile),
    ...Object.values(chains).flatMap(({ promptFile, steps }) => [
      promptFile,
      ...agentSteps(steps).map((step) => step.promptFile),
    ]),
  ]
  return new Set(files.filter((file) => file !== undefined).filter((file) => file !== ''))
}

/** The agent files of Claude Code that a chain can name, those of the project first. */
export function reachableFiles(
  { agents = {} }: ChainsConfig,
  cwd: string,
  facts: Facts,
): ReadonlyMap<string, AgentFile> {
  const isDefined = (name: string) =>
    Object.hasOwn(agents, name) && isDirectSpawnAgent(agents[name]!)
  const project = facts.agentFiles(cwd)
  const isTaken = (name: string) =>
    project.agents.has(name) ||
    project.problems.some((problem) => problem.name === name && problem.isHarmless !== true) ||
    Object.hasOwn({ ...BUILT_IN_AGENTS, ...BUNDLED_AGENTS }, name) ||
    facts.programOnPath(name).kind !== 'missing'
  const user = [...facts.userAgentFiles().agents].filter(([name]) => !isTaken(name))
  return new Map([...project.agents, ...user].filter(([name]) => !isDefined(name)))
}

/** What is wrong with the agent files of the project. */
export function fileProblems(cwd: string, facts: Facts): Problem[] {
  const { problems } = facts.agentFiles(cwd)
  return problems
    .filter(({ isHarmless }) => isHarmless !== true)
    .map(({ message, hint }) => ({ message, hint }))
}

/** A list such as `reviewer (.claude/agents/reviewer.md)`. */
export function describeFiles(files: ReadonlyMap<string, AgentFile>): string {
  return [...files.values()].map(({ name, path }) => printable(`${name} (${path})`)).join(', ')
}
