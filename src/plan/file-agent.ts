import { UserError } from '../base/errors.ts'
import { BUILT_IN_AGENTS } from '../builtins/agents.ts'
import type { DirectAgent } from '../engines/engine.ts'
import type { AgentFile } from '../parse/agent-file.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import { configuredAgent, type Prices } from './direct-agent.ts'
import type { AgentFiles, Facts } from './facts.ts'

interface Place {
  readonly cwd: string
  /** A chain of our own means agents of our own. */
  readonly isBuiltInChain?: boolean
}

/** The file of the project that a name means. */
export function projectFile(
  name: string,
  { cwd, isBuiltInChain }: Place,
  facts: Facts,
): AgentFile | undefined {
  if (name.includes('/') || isBuiltInChain === true) return undefined
  return findFile(name, facts.agentFiles(cwd))
}

/** Throws where the file of that name is broken: what is meant instead would be a surprise. */
export function findFile(name: string, { agents, problems }: AgentFiles): AgentFile | undefined {
  const found = agents.get(name)
  if (found !== undefined) return found
  const problem = problems.find((each) => each.name === name && each.isHarmless !== true)
  if (problem === undefined) return undefined
  throw new UserError(problem.message, problem.hint)
}

/** The agent of a file; what the configuration says of it is laid over. */
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

/** What else a name could have meant. */
export function fileWarnings({ name, file }: DirectAgent, facts: Facts): string[] {
  if (file === undefined) return []
  if (Object.hasOwn(BUILT_IN_AGENTS, name)) {
    return [`'${name}' is ${file} here, not the built-in agent.`]
  }
  const program = facts.programOnPath(name)
  return program.kind === 'program'
    ? [`'${name}' is ${file} here, not ${program.path}; for the program write its path.`]
    : []
}
