import { resolve } from 'node:path'
import type { BuiltInAgent } from '../builtins/agents.ts'
import type { DirectAgent, NativeAgent } from '../../engines/engine.ts'
import { isReadOnly, namesQueueTools } from '../../engines/native/tool-sets.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import type { Phases } from '../parse/prompt/phases.ts'
import { hasSetup } from '../prompts/read-phases.ts'
import { makeClaudeAgent } from './claude-agent.ts'
import type { Facts } from './facts.ts'
import { makeNativeAgent } from './native-agent.ts'

export type Prices = NativeAgent['prices']

/** The system prompt of a native agent that has none. */
const PLAIN_PROMPT =
  'You are a software engineer at work in the project in the working directory. Do what the prompt asks for, completely, and verify it.'

/** An agent defined only by the configuration. */
export function configuredAgent(
  name: string,
  config: AgentConfig,
  base: string,
  facts: Facts,
  prices?: Prices,
): DirectAgent {
  const { systemPromptText, systemPrompt: file } = config
  const text = systemPromptText || (file ? undefined : PLAIN_PROMPT)
  const systemPrompt = text === undefined ? { file: resolve(base, file!) } : { text }
  return makeDirectAgent(name, [systemPrompt], config, base, facts, prices)
}

/** A built-in agent; fields of the configuration override its own. */
export function builtInAgent(
  name: string,
  builtIn: BuiltInAgent,
  config: AgentConfig,
  known: { readonly cwd: string; readonly agentBase: string; readonly prices?: Prices },
  facts: Facts,
): DirectAgent {
  const { cwd, agentBase, prices } = known
  const { override, prompt, model, maxTurns, allowedTools, finishesTasks, plans } = builtIn
  const prompts = [{ file: resolve(cwd, override), isOptional: true }, { text: prompt }]
  const defaults = {
    model,
    maxTurns,
    ...(allowedTools === undefined ? {} : { allowedTools: [...allowedTools] }),
    // It should not start other agents.
    ...(plans === true ? { queue: false } : {}),
  }
  const merged = { ...defaults, ...config }
  const agent = makeDirectAgent(name, prompts, merged, agentBase, facts, prices)
  return finishesTasks === true ? { ...agent, finishesTasks } : agent
}

function makeDirectAgent(
  name: string,
  systemPrompt: DirectAgent['systemPrompt'],
  config: AgentConfig,
  base: string,
  facts: Facts,
  prices: Prices,
): DirectAgent {
  return config.engine === 'native'
    ? makeNativeAgent(name, systemPrompt, config, prices)
    : makeClaudeAgent(name, systemPrompt, config, base, facts)
}

/**
 * Whether an agent gets the tools for queue and inbox. Unless the configuration decides, commands in
 * its prompt do; a native agent without a tool list always gets them.
 */
export function getsQueue(agent: DirectAgent, phases: Phases): boolean {
  if (agent.queue !== undefined) return agent.queue
  const isNative = agent.engine === 'native'
  if (isNative && namesQueueTools(agent)) return true
  const usesQueue = phases.teardown.length > 0 || hasSetup(phases)
  const hasAll = isNative && agent.allowedTools === undefined
  return (usesQueue || hasAll) && !onlyReads(agent)
}

/** Tools that change something, or that can delegate it. */
const CHANGING = /^(?:Bash|Edit|MultiEdit|NotebookEdit|Write|Task|Agent|mcp__.*)$/

/** Whether an agent may only read; it must not start other agents then. */
export function onlyReads(agent: DirectAgent): boolean {
  if (agent.engine === 'native') return isReadOnly(agent)
  const { allowedTools, permissionMode } = agent
  if (permissionMode === 'plan') return true
  const names = allowedTools?.map((tool) => tool.replace(/\(.*$/s, '').trim())
  return names !== undefined && !names.some((name) => CHANGING.test(name))
}
