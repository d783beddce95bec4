import { resolve } from 'node:path'
import { dropUndefined } from '../../base/objects.ts'
import { UserError, type Problem } from '../../base/errors.ts'
import type { ClaudeAgent, DirectAgent, NativeAgent } from '../../engines/engine.ts'
import { parseModel } from '../../engines/native/model-names.ts'
import { isReadOnly, namesQueueTools } from '../../engines/native/tool-sets.ts'
import { toolProblems } from '../../engines/tool-names.ts'
import type { BuiltInAgent } from '../builtins/agents.ts'
import type { AgentFile } from '../parse/agent-file.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import type { Phases } from '../parse/prompt/phases.ts'
import { hasSetup } from '../prompts/read-phases.ts'
import type { Facts } from './facts.ts'
import { collect, PlanError } from './problems.ts'

const DEFAULT_MODEL = 'sonnet'
const DEFAULT_MAX_TURNS = 100

/** The system prompt of a native agent that has none. */
const PLAIN_PROMPT =
  'You are a software engineer working on the project in the working directory. Do everything that the prompt asks for, and verify the result.'

/** In this mode, the default, tools run without permission checks. */
export const BYPASS = 'bypassPermissions'

/** What an agent's settings refer to. */
export interface Surroundings {
  readonly cwd: string
  /** The base of relative paths in the configuration. */
  readonly agentBase: string
  /** Prices of models, if configured. */
  readonly prices?: NativeAgent['prices']
}

type Prompts = DirectAgent['systemPrompt']

/** An agent defined only by the configuration. */
export function configuredAgent(
  name: string,
  config: AgentConfig,
  around: Surroundings,
  facts: Facts,
): DirectAgent {
  const { systemPromptText, systemPrompt: file } = config
  const text = systemPromptText || (file ? undefined : PLAIN_PROMPT)
  const prompt = text === undefined ? { file: resolve(around.agentBase, file!) } : { text }
  return makeDirectAgent(name, [prompt], config, around, facts)
}

/** An agent defined by a file; the configuration overrides its fields. */
export function fileAgent(
  { name, path, config: own }: AgentFile,
  config: AgentConfig,
  around: Surroundings,
  facts: Facts,
): DirectAgent {
  const merged = { ...own, ...config, systemPromptText: own.systemPromptText }
  const inherits = merged.model === undefined ? { inheritsModel: true } : {}
  return { ...configuredAgent(name, merged, around, facts), ...inherits, file: path }
}

/** A built-in agent; the configuration overrides its fields. */
export function builtInAgent(
  name: string,
  builtIn: BuiltInAgent,
  config: AgentConfig,
  around: Surroundings,
  facts: Facts,
): DirectAgent {
  const { override, prompt, model, maxTurns, allowedTools, finishesTasks, plans } = builtIn
  const prompts = [{ file: resolve(around.cwd, override), isOptional: true }, { text: prompt }]
  // A planner should not start other agents.
  const queue = plans === true ? false : undefined
  const defaults = dropUndefined({ model, maxTurns, allowedTools, queue }) as AgentConfig
  const agent = makeDirectAgent(name, prompts, { ...defaults, ...config }, around, facts)
  return finishesTasks === true ? { ...agent, finishesTasks } : agent
}

function makeDirectAgent(
  name: string,
  prompts: Prompts,
  config: AgentConfig,
  around: Surroundings,
  facts: Facts,
): DirectAgent {
  return config.engine === 'native'
    ? makeNativeAgent(name, prompts, config, around.prices)
    : makeClaudeAgent(name, prompts, config, around.agentBase, facts)
}

function makeClaudeAgent(
  name: string,
  systemPrompt: Prompts,
  config: AgentConfig,
  base: string,
  facts: Facts,
): ClaudeAgent {
  const { mcpConfig, settings, allowedTools, disallowedTools, permissionMode } = config
  const { userSettings, queue } = config
  const problems: Problem[] = []
  collect(problems, () => checkPermissions(name, permissionMode, facts))
  const program = collect(problems, () => findClaude(name, facts))
  if (program === undefined || problems.length > 0) throw new PlanError(problems)
  return {
    engine: 'claude',
    name,
    program,
    systemPrompt,
    model: config.model ?? DEFAULT_MODEL,
    maxTurns: config.maxTurns ?? DEFAULT_MAX_TURNS,
    ...dropUndefined({
      mcpConfig: mcpConfig ? resolve(base, mcpConfig) : undefined,
      settings: settings ? resolve(base, settings) : undefined,
      allowedTools,
      disallowedTools,
      permissionMode,
      userSettings,
      queue,
    }),
  }
}

function findClaude(name: string, facts: Facts): string {
  const fact = facts.programOnPath('claude')
  if (fact.kind === 'program') return fact.path
  if (fact.kind === 'unusable') {
    const { path, problem, hint } = fact
    throw new UserError(`Agent '${name}' needs claude (${path}), which ${problem}.`, hint)
  }
  throw new UserError(
    `Agent '${name}' needs Claude Code, but there is no 'claude' on PATH.`,
    'Install it with npm install -g @anthropic-ai/claude-code, then log in: claude. See: forkhestra doctor',
  )
}

/** `claude` would refuse this as well, but only after the chain has started. */
function checkPermissions(name: string, mode: string = BYPASS, { mustAsk }: Facts): void {
  if (!mustAsk || mode !== BYPASS) return
  throw new UserError(
    `Agent '${name}' skips permission prompts, which claude refuses to do as root.`,
    'Run it as another user, set IS_SANDBOX=1 in a disposable container, or give the agent a "permissionMode".',
  )
}

export function makeNativeAgent(
  name: string,
  systemPrompt: Prompts,
  config: AgentConfig,
  prices: NativeAgent['prices'],
): NativeAgent {
  const { allowedTools, disallowedTools, queue, baseUrl, apiKeyEnv, tools, maxOutputTokens } =
    config
  const { provider, model } = parseModel(config.model ?? DEFAULT_MODEL)
  const problems = toolProblems(config)
  if (problems.length > 0) {
    throw new PlanError(
      problems.map(({ message, hint }) => ({ message: `Agent '${name}': ${message}`, hint })),
    )
  }
  if (provider === 'compatible' && baseUrl === undefined) {
    throw new UserError(
      `Agent '${name}' uses the model "${config.model}", but has no "baseUrl".`,
      'Add the address of the service, for example "baseUrl": "http://127.0.0.1:11434/v1".',
    )
  }
  return {
    engine: 'native',
    name,
    systemPrompt,
    provider,
    model,
    maxTurns: config.maxTurns ?? DEFAULT_MAX_TURNS,
    ...dropUndefined({
      baseUrl,
      apiKeyEnv,
      tools,
      maxOutputTokens,
      allowedTools,
      disallowedTools,
      queue,
      prices,
    }),
  }
}

/**
 * Whether an agent gets the queue and inbox tools. If the configuration does not say, commands in its prompt
 * decide; a native agent without a tool list always gets them.
 */
export function getsQueue(agent: DirectAgent, phases: Phases): boolean {
  if (agent.queue !== undefined) return agent.queue
  const isNative = agent.engine === 'native'
  if (isNative && namesQueueTools(agent)) return true
  const usesQueue = phases.teardown.length > 0 || hasSetup(phases)
  const hasAll = isNative && agent.allowedTools === undefined
  return (usesQueue || hasAll) && !onlyReads(agent)
}

/** Tools that make changes, or can delegate them. */
const CHANGING = /^(?:Bash|Edit|MultiEdit|NotebookEdit|Write|Task|Agent|mcp__.*)$/

/** Whether an agent may only read, and therefore must not start other agents. */
export function onlyReads(agent: DirectAgent): boolean {
  if (agent.engine === 'native') return isReadOnly(agent)
  const { allowedTools, permissionMode } = agent
  if (permissionMode === 'plan') return true
  const names = allowedTools?.map((tool) => tool.replace(/\(.*$/s, '').trim())
  return names !== undefined && !names.some((name) => CHANGING.test(name))
}
