import { resolve } from 'node:path'
import { UserError, type Problem } from '../base/errors.ts'
import { didYouMean } from '../base/nearest.ts'
import type { ResolvedAgent } from '../engines/engine.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import { isDirectSpawnAgent } from '../prompt/mode-awareness.ts'
import type { Facts, ProgramFact } from './facts.ts'
import { PlanError } from './problems.ts'

export type Agents = Readonly<Record<string, AgentConfig>>

/** Says which agent a name means, or throws with what was looked for and where. */
export function resolveAgent(
  name: string,
  agents: Agents,
  base: string,
  facts: Facts,
): ResolvedAgent {
  const config = Object.hasOwn(agents, name) ? agents[name] : undefined
  if (config !== undefined && isDirectSpawnAgent(config)) {
    const missing = missingAgentFiles(name, config, base, facts)
    if (missing.length > 0) throw new PlanError(missing)
    throw new UserError(
      `Agent '${name}' has a system prompt, and this version runs programs only.`,
      `Give the chain a program that calls your coding CLI, or remove the system prompt to run a program called '${name}'.`,
    )
  }
  const fact = findProgram(name, base, facts)
  if (fact.kind === 'program') {
    const { path: program, interpreter } = fact
    return {
      engine: 'binary',
      name,
      program,
      ...(interpreter === undefined ? {} : { interpreter }),
    }
  }
  if (fact.kind === 'unusable')
    throw new UserError(`Agent '${name}' (${fact.path}) ${fact.problem}.`, fact.hint)
  throw name.includes('/') ? pathNotFound(name, base) : nameNotFound(name, agents, facts)
}

/** Whether a whole word such as `fk:builder` names an agent, so that `builder` is not a count. */
export function isKnownAgent(name: string, agents: Agents, base: string, facts: Facts): boolean {
  return Object.hasOwn(agents, name) || findProgram(name, base, facts).kind === 'program'
}

function findProgram(name: string, base: string, facts: Facts): ProgramFact {
  return name.includes('/') ? facts.programAt(resolve(base, name)) : facts.programOnPath(name)
}

/** The files that an agent names and that are not there. */
export function missingAgentFiles(
  name: string,
  config: AgentConfig,
  base: string,
  facts: Facts,
): Problem[] {
  const fields = config.systemPromptText
    ? (['mcpConfig', 'settings'] as const)
    : (['systemPrompt', 'mcpConfig', 'settings'] as const)
  return fields.flatMap((field) => {
    const path = config[field]
    if (!path || facts.fileExists(resolve(base, path))) return []
    const message = `Agent '${name}' references ${field} '${path}' which does not exist`
    return [{ message, hint: `It was looked for in ${base}.` }]
  })
}

function pathNotFound(name: string, base: string): UserError {
  return new UserError(`Agent not found: ${name}`, `There is no such file in ${base}.`)
}

function nameNotFound(name: string, agents: Agents, facts: Facts): UserError {
  const suggestion = didYouMean(name, Object.keys(agents))
  const places =
    facts.searchPath.length === 0 ? 'PATH is empty' : `PATH: ${facts.searchPath.join(', ')}`
  return new UserError(
    `Agent not found: ${name}${suggestion}`,
    `No agent of the configuration has a system prompt under that name, and no program is called '${name}' on ${places}.\nInstall it, or write its path, e.g. ./${name}`,
  )
}
