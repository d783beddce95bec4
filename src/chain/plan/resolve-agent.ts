import { isAbsolute, relative, resolve } from 'node:path'
import { dropUndefined, own } from '../../base/objects.ts'
import { UserError, type Problem } from '../../base/errors.ts'
import { parseJson } from '../../base/json.ts'
import { didYouMean, nearest } from '../../base/nearest.ts'
import {
  BUILT_IN_AGENTS,
  BUNDLED_AGENTS,
  promptFiles,
  type BuiltInAgent,
} from '../builtins/agents.ts'
import type { ResolvedAgent } from '../../engines/engine.ts'
import type { AgentFile } from '../parse/agent-file.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import { isDirectSpawnAgent } from '../prompts/system-prompt.ts'
import { builtInAgent, configuredAgent, fileAgent, type Surroundings } from './direct-agent.ts'
import type { AgentFiles, Facts, ProgramFact } from './facts.ts'
import { PlanError } from './problems.ts'

export type Agents = Readonly<Record<string, AgentConfig>>

/** What names of agents are resolved against. */
export interface Known extends Surroundings {
  readonly agents: Agents
  /** The base of relative paths in the chain. */
  readonly base: string
  /** The folder in which the chain was typed; messages show paths relative to it. */
  readonly here?: string
  /** Whether the chain is built in, and so uses built-in agents only. */
  readonly isBuiltInChain?: boolean
  /** Names of chains, for a hint. */
  readonly chainNames?: readonly string[]
  /** Commands, for a hint; `guess` finds one by a similar word. */
  readonly commands?:
    | {
        readonly names: readonly string[]
        readonly guess: (word: string) => string | undefined
      }
    | undefined
}

/** Finds an agent by name, or throws an error that lists where it looked. */
export function resolveAgent(name: string, known: Known, facts: Facts): ResolvedAgent {
  const { agents, cwd, base, agentBase } = known
  const config = own(agents, name)
  const missing = config === undefined ? [] : missingAgentFiles(name, config, agentBase, facts, cwd)
  if (missing.length > 0) throw new PlanError(missing)
  if (config !== undefined && isDirectSpawnAgent(config)) {
    return configuredAgent(name, config, known, facts)
  }
  const file = projectFile(name, known, facts)
  if (file !== undefined) return fileAgent(file, config ?? {}, known, facts)
  const builtIn = findBuiltIn(name)
  if (builtIn !== undefined) return builtInAgent(name, builtIn, config ?? {}, known, facts)
  const fact = findProgram(name, base, facts)
  const bundled = own(BUNDLED_AGENTS, name)
  if (bundled !== undefined && (fact.kind === 'missing' || facts.isOwnProgram(fact.path))) {
    const agent = builtInAgent(name, bundled, bundledConfig(name, agents), known, facts)
    return { ...agent, isBundled: true }
  }
  if (config?.engine === 'native') return configuredAgent(name, config, known, facts)
  if (fact.kind === 'program') {
    const { path: program, interpreter } = fact
    return { engine: 'binary', name, program, ...dropUndefined({ interpreter }) }
  }
  if (fact.kind === 'unusable')
    throw new UserError(`Agent '${name}' (${fact.path}) ${fact.problem}.`, fact.hint)
  if (name.includes('/')) {
    throw new UserError(
      `Agent not found: ${typed(name, known)}${nearPath(name, known, facts)}`,
      [`There is no such file in ${known.here ?? base}.`, ...loopAdvice(name)].join('\n'),
    )
  }
  const userFile = findFile(name, facts.userAgentFiles())
  if (userFile !== undefined) return fileAgent(userFile, config ?? {}, known, facts)
  throw nameNotFound(name, known, facts)
}

/** The name of an agent as the user would type it: a path is relative to the current folder. */
function typed(name: string, { here, base }: Known): string {
  if (here === undefined || here === base || !name.includes('/') || isAbsolute(name)) return name
  const path = relative(here, resolve(base, name))
  return path.startsWith('../') ? path : `./${path}`
}

/** ` (did you mean './builder'?)`: a program in the same folder. */
function nearPath(name: string, known: Known, facts: Facts): string {
  const { base } = known
  const at = name.lastIndexOf('/') + 1
  const folder = resolve(base, name.slice(0, at))
  const programs = facts
    .namesIn(folder)
    .filter((each) => facts.programAt(resolve(folder, each)).kind === 'program')
  const near = nearest(name.slice(at), programs)
  if (near === undefined) return ''
  return ` (did you mean '${typed(`${name.slice(0, at)}${near}`, known)}'?)`
}

function projectFile(
  name: string,
  { cwd, isBuiltInChain }: Known,
  facts: Facts,
): AgentFile | undefined {
  if (name.includes('/') || isBuiltInChain === true) return undefined
  return findFile(name, facts.agentFiles(cwd))
}

/** Throws if the file of this name is broken, instead of falling back to another agent. */
function findFile(name: string, { agents, problems }: AgentFiles): AgentFile | undefined {
  const found = agents.get(name)
  if (found !== undefined) return found
  const problem = problems.find((each) => each.name === name && each.isHarmless !== true)
  if (problem === undefined) return undefined
  throw new UserError(problem.message, problem.hint)
}

/** Whether a name refers to a built-in agent that neither project nor user has replaced. */
export function isBuiltIn(name: string, known: Known, facts: Facts): boolean {
  if (findBuiltIn(name) === undefined) return false
  if (isDirectSpawnAgent(own(known.agents, name) ?? {})) return false
  return projectFile(name, known, facts) === undefined
}

/** The configuration of an agent; a bundled one has two names. */
export function configOf(agent: ResolvedAgent, agents: Agents): AgentConfig {
  const { name } = agent
  if (agent.engine !== 'binary' && agent.isBundled === true) return bundledConfig(name, agents)
  return own(agents, name) ?? {}
}

function bundledConfig(name: string, agents: Agents): AgentConfig {
  return own(agents, name) ?? own(agents, `forge-${name}`) ?? {}
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

/** An agent that needs no configuration, and no program except `claude`. */
export function findBuiltIn(name: string): BuiltInAgent | undefined {
  return own(BUILT_IN_AGENTS, name)
}

function findProgram(name: string, base: string, facts: Facts): ProgramFact {
  return name.includes('/') ? facts.programAt(resolve(base, name)) : facts.programOnPath(name)
}

/** Problems with files that an agent's configuration refers to. */
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
    const advice =
      field !== 'systemPrompt'
        ? ''
        : /\s/.test(path)
          ? 'For a prompt as text use "systemPromptText".\n'
          : promptAdvice(name, resolve(base, path), cwd)
    return [{ message, hint: `${advice}Looked in: ${base}` }]
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

/** How to write a built-in agent's prompt to the project. */
function promptAdvice(name: string, path: string, cwd: string): string {
  const eject = 'forkhestra init --eject-prompts'
  if ([...promptFiles().keys()].some((file) => resolve(cwd, file) === path))
    return `To write the built-in prompt there: ${eject}\n`
  const builtIn = findBuiltIn(name)
  if (builtIn === undefined) return ''
  return `Without "systemPrompt" the agent uses its built-in prompt; ${eject} writes it to ${builtIn.override}.\n`
}

function nameNotFound(name: string, known: Known, facts: Facts): UserError {
  const { agents, chainNames = [], commands } = known
  const emptyPath = facts.searchPath.length === 0 ? ['PATH is empty.'] : []
  const files = facts.agentFiles(known.cwd)
  const names = [...Object.keys(agents), ...files.agents.keys(), ...Object.keys(BUILT_IN_AGENTS)]
  const almost = files.problems.find((problem) => problem.name === name)
  const command = commands?.guess(name)
  const similar = nearest(
    name,
    names.filter((each) => each !== name),
  )
  const near =
    similar === undefined
      ? didYouMean(name, commands?.names ?? [], 'the command ')
      : ` (did you mean '${typed(similar, known)}'?)`
  if (Object.hasOwn(agents, name)) {
    return new UserError(
      `Agent '${name}' in the configuration has no system prompt, and there is no program named '${name}' on PATH.`,
      [
        `Give it "systemPromptText" or "systemPrompt" to make it a claude agent, or install the program.`,
        ...emptyPath,
      ].join('\n'),
    )
  }
  return new UserError(
    `Agent not found: ${name}${command === undefined ? near : ` (did you mean '${command}'?)`}`,
    [
      `There is no program named '${name}' on PATH, and no such agent in the configuration or in .claude/agents.`,
      ...(almost === undefined ? [] : [almost.message, almost.hint ?? '']),
      ...(command === undefined ? [guess(name, chainNames)] : []),
      ...emptyPath,
    ].join('\n'),
  )
}

/** A hint at what was probably meant. */
function guess(name: string, chainNames: readonly string[]): string {
  if (chainNames.includes(name))
    return `There is a chain with that name: forkhestra --chain ${name}`
  const [loop] = loopAdvice(name)
  if (loop !== undefined) return loop
  if (/\s/.test(name)) return 'Put arguments in "args", not in the name.'
  return `Install it, or give its path, for example ./${name}`
}

/** For a name with a count, which is valid only in a typed chain. */
function loopAdvice(name: string): string[] {
  const loop = /^(.+):(\d+)$/.exec(name)
  return loop === null ? [] : [`For a loop write "agent": "${loop[1]}", "iterations": ${loop[2]}`]
}
