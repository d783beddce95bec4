import { resolve } from 'node:path'
import { UserError, type Problem } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { didYouMean } from '../../base/nearest.ts'
import {
  BUILT_IN_AGENTS,
  BUNDLED_AGENTS,
  promptFiles,
  type BuiltInAgent,
} from '../builtins/agents.ts'
import type { ResolvedAgent } from '../../engines/engine.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import { isDirectSpawnAgent } from '../prompts/mode-awareness.ts'
import { builtInAgent, configuredAgent, type Prices } from './direct-agent.ts'
import type { Facts, ProgramFact } from './facts.ts'
import { fileAgent, findFile, projectFile } from './file-agent.ts'
import { PlanError } from './problems.ts'

export type Agents = Readonly<Record<string, AgentConfig>>

/** What names of agents are resolved against. */
export interface Known {
  readonly agents: Agents
  readonly cwd: string
  readonly base: string
  readonly agentBase: string
  /** Whether the chain is built in. */
  readonly isBuiltInChain?: boolean
  /** Prices of models, if configured. */
  readonly prices?: Prices
  /** For a hint if the name is that of a chain. */
  readonly chainNames?: readonly string[]
  /** For a hint if a command was meant; `guess` finds it by a similar word. */
  readonly commands?:
    | {
        readonly names: readonly string[]
        readonly guess: (word: string) => string | undefined
      }
    | undefined
}

/** Finds the agent with a name, or throws with the places that were searched. */
export function resolveAgent(name: string, known: Known, facts: Facts): ResolvedAgent {
  const { agents, cwd, base, agentBase, prices } = known
  const config = Object.hasOwn(agents, name) ? agents[name] : undefined
  const missing = config === undefined ? [] : missingAgentFiles(name, config, agentBase, facts, cwd)
  if (missing.length > 0) throw new PlanError(missing)
  if (config !== undefined && isDirectSpawnAgent(config)) {
    return configuredAgent(name, config, agentBase, facts, prices)
  }
  const file = projectFile(name, known, facts)
  if (file !== undefined) return fileAgent(file, config ?? {}, agentBase, facts, prices)
  const builtIn = findBuiltIn(name)
  if (builtIn !== undefined) return builtInAgent(name, builtIn, config ?? {}, known, facts)
  const fact = findProgram(name, base, facts)
  const bundled = Object.hasOwn(BUNDLED_AGENTS, name) ? BUNDLED_AGENTS[name] : undefined
  if (bundled !== undefined && (fact.kind === 'missing' || facts.isOwnProgram(fact.path))) {
    const laidOver = bundledConfig(name, agents)
    return { ...builtInAgent(name, bundled, laidOver, known, facts), isBundled: true }
  }
  if (config?.engine === 'native') {
    return configuredAgent(name, config, agentBase, facts, prices)
  }
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
  if (name.includes('/')) throw pathNotFound(name, base)
  const own = findFile(name, facts.userAgentFiles())
  if (own !== undefined) return fileAgent(own, config ?? {}, agentBase, facts, prices)
  throw nameNotFound(name, known, facts)
}

/** Whether a name means a built-in agent that neither project nor user has replaced. */
export function isBuiltIn(name: string, known: Known, facts: Facts): boolean {
  const { agents } = known
  const config = Object.hasOwn(agents, name) ? agents[name] : undefined
  if (findBuiltIn(name) === undefined) return false
  if (config !== undefined && isDirectSpawnAgent(config)) return false
  return projectFile(name, known, facts) === undefined
}

/** The configuration of an agent; a bundled one has two names. */
export function configOf(agent: ResolvedAgent, agents: Agents): AgentConfig {
  const { name } = agent
  if (agent.engine !== 'binary' && agent.isBundled === true) return bundledConfig(name, agents)
  return (Object.hasOwn(agents, name) ? agents[name] : undefined) ?? {}
}

function bundledConfig(name: string, agents: Agents): AgentConfig {
  const known = [name, `forge-${name}`].find((each) => Object.hasOwn(agents, each))
  return known === undefined ? {} : agents[known]!
}

/** Whether a word such as `fk:builder` is the name of an agent, and `builder` not a count. */
export function isKnownAgent(name: string, { agents, base, cwd }: Known, facts: Facts): boolean {
  return (
    Object.hasOwn(agents, name) ||
    findBuiltIn(name) !== undefined ||
    Object.hasOwn(BUNDLED_AGENTS, name) ||
    findProgram(name, base, facts).kind === 'program' ||
    facts.agentFiles(cwd).agents.has(name) ||
    facts.userAgentFiles().agents.has(name)
  )
}

/** An agent that needs no configuration and no program but `claude`. */
export function findBuiltIn(name: string): BuiltInAgent | undefined {
  return Object.hasOwn(BUILT_IN_AGENTS, name) ? BUILT_IN_AGENTS[name] : undefined
}

function findProgram(name: string, base: string, facts: Facts): ProgramFact {
  return name.includes('/') ? facts.programAt(resolve(base, name)) : facts.programOnPath(name)
}

/** Problems with the files that the configuration of an agent refers to. */
export function missingAgentFiles(
  name: string,
  config: AgentConfig,
  base: string,
  facts: Facts,
  cwd = base,
): Problem[] {
  const fields = config.systemPromptText
    ? (['mcpConfig', 'settings'] as const)
    : (['systemPrompt', 'mcpConfig', 'settings'] as const)
  return fields.flatMap((field) => {
    const path = config[field]
    if (!path) return []
    if (facts.fileExists(resolve(base, path)))
      return field === 'systemPrompt' ? [] : checkJson(path)
    const message = `Agent '${name}' references ${field} '${path}' which does not exist`
    const advice = field === 'systemPrompt' ? promptAdvice(name, resolve(base, path), cwd) : ''
    return [{ message, hint: `${advice}It was looked for in ${base}.` }]
  })

  /** `claude` ignores an invalid file silently, or refuses it in every iteration. */
  function checkJson(path: string): Problem[] {
    try {
      parseJson(facts.readPrompt(path, base))
      return []
    } catch {
      return [{ message: `Agent '${name}': ${path} is not valid JSON.`, hint: 'Fix the file.' }]
    }
  }
}

/** How to write the prompt of a built-in agent to the project. */
function promptAdvice(name: string, path: string, cwd: string): string {
  const eject = 'forkhestra init --eject-prompts'
  if ([...promptFiles().keys()].some((file) => resolve(cwd, file) === path))
    return `To write the built-in prompt there: ${eject}\n`
  const builtIn = findBuiltIn(name)
  if (builtIn === undefined) return ''
  return `Without "systemPrompt" the agent has its built-in prompt; ${eject} writes that to ${builtIn.override}.\n`
}

function pathNotFound(name: string, base: string): UserError {
  return new UserError(`Agent not found: ${name}`, `There is no such file in ${base}.`)
}

function nameNotFound(name: string, known: Known, facts: Facts): UserError {
  const { agents, chainNames = [], commands } = known
  const places = facts.searchPath.length === 0 ? 'an empty PATH' : facts.searchPath.join(', ')
  const files = facts.agentFiles(known.cwd)
  const names = [...Object.keys(agents), ...files.agents.keys(), ...Object.keys(BUILT_IN_AGENTS)]
  const almost = files.problems.find((problem) => problem.name === name)
  const command = commands?.guess(name)
  const near = didYouMean(name, names) || didYouMean(name, commands?.names ?? [], 'the command ')
  if (Object.hasOwn(agents, name)) {
    return new UserError(
      `Agent '${name}' of the configuration has no system prompt, and no program is called '${name}'.`,
      [
        `Give it "systemPromptText" or "systemPrompt" to make it an agent of claude, or install the program.`,
        `Looked in: ${places}`,
      ].join('\n'),
    )
  }
  return new UserError(
    `Agent not found: ${name}${command === undefined ? near : `, did you mean '${command}'?`}`,
    [
      `No program is called '${name}' on PATH, and neither the configuration nor .claude/agents has such an agent.`,
      ...(almost === undefined ? [] : [almost.message, almost.hint ?? '']),
      ...(command === undefined ? [guess(name, chainNames)] : []),
      `Looked in: ${places}`,
    ].join('\n'),
  )
}

/** A hint about what was probably meant. */
function guess(name: string, chainNames: readonly string[]): string {
  if (chainNames.includes(name)) return `There is a chain of that name: forkhestra --chain ${name}`
  const loop = /^(.+):(\d+)$/.exec(name)
  if (loop !== null) return `For a loop write "agent": "${loop[1]}", "iterations": ${loop[2]}`
  if (/\s/.test(name)) return 'Put arguments into "args", not into the name.'
  return `Install it, or write its path, for example ./${name}`
}
