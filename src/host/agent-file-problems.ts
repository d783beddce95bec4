import type { Problem } from '../base/errors.ts'
import { printable } from '../base/terminal/printable.ts'
import { BUILT_IN_AGENTS, BUNDLED_AGENTS } from '../chain/builtins/agents.ts'
import type { AgentFile } from '../chain/parse/agent-file.ts'
import type { ChainsConfig } from '../chain/parse/chains-schema.ts'
import type { Facts } from '../chain/plan/facts.ts'
import { isDirectSpawnAgent } from '../chain/prompts/system-prompt.ts'

/** The files of Claude Code that are meant by their names here, those of the project first. */
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

/** What is wrong with files that are meant to be agents of the project. */
export function fileProblems(cwd: string, facts: Facts): Problem[] {
  const { problems } = facts.agentFiles(cwd)
  return problems
    .filter(({ isHarmless }) => isHarmless !== true)
    .map(({ message, hint }) => ({ message, hint }))
}

/** `reviewer (.claude/agents/reviewer.md)`, for each. */
export function describeFiles(files: ReadonlyMap<string, AgentFile>): string {
  return [...files.values()].map(({ name, path }) => printable(`${name} (${path})`)).join(', ')
}
