import { UserError } from '../../base/errors.ts'
import { BUILT_IN_AGENTS } from '../builtins/agents.ts'
import type { DirectAgent } from '../../engines/engine.ts'
import type { AgentFile } from '../parse/agent-file.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import { configuredAgent, type Prices } from './direct-agent.ts'
import type { AgentFiles, Facts } from './facts.ts'

interface Place {
  readonly cwd: string
  /** Built-in chains use built-in agents only. */
  readonly isBuiltInChain?: boolean
}

/** The agent file of the project with this name. */
export function projectFile(
  name: string,
  { cwd, isBuiltInChain }: Place,
  facts: Facts,
): AgentFile | undefined {
  if (name.includes('/') || isBuiltInChain === true) return undefined
  return findFile(name, facts.agentFiles(cwd))
}

/** Throws if the file with this name is broken, instead of falling back to another agent. */
export function findFile(name: string, { agents, problems }: AgentFiles): AgentFile | undefined {
  const found = agents.get(name)
  if (found !== undefined) return found
  const problem = problems.find((each) => each.name === name && each.isHarmless !== true)
  if (problem === undefined) return undefined
  throw new UserError(problem.message, problem.hint)
}

/** The agent of a file; fields of the configuration override its own. */
export function fileAgent(
  { name, path, config: own }: AgentFile,
  config: AgentConfig,
  base: string,
  facts: Facts,
  prices?: Prices,
): DirectAgent {
  const { systemPromptText } = own
  const merged = { ...own, ...config, systemPromptText }
  const agent = configuredAgent(name, merged, base, facts, prices)
  const inherits = merged.model === undefined ? { inheritsModel: true } : {}
  return { ...agent, ...inherits, file: path }
}

/** Warnings about other agents and programs with the same name. */
export function fileWarnings({ name, file }: DirectAgent, facts: Facts): string[] {
  if (file === undefined) return []
  if (Object.hasOwn(BUILT_IN_AGENTS, name)) {
    return [`'${name}' is ${file} here, not the built-in agent.`]
  }
  const program = facts.programOnPath(name)
  return program.kind === 'program'
    ? [`'${name}' is ${file} here, not ${program.path}; to run the program, write its path.`]
    : []
}
