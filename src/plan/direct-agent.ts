import { resolve } from 'node:path'
import type { BuiltInAgent } from '../builtins/agents.ts'
import type { DirectAgent, NativeAgent } from '../engines/engine.ts'
import { changesNothing, namesVerbs } from '../engines/native-tools.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import type { Phases } from '../parse/phases/phases.ts'
import { hasSetup } from '../prompt/read-phases.ts'
import { makeClaudeAgent } from './claude-agent.ts'
import type { Facts } from './facts.ts'
import { makeNativeAgent } from './native-agent.ts'

export type Prices = NativeAgent['prices']

/** What a native agent is where nobody has written more. */
const PLAIN_PROMPT =
  'You are a software engineer at work in the project in the working directory. Do what the prompt asks for, completely, and verify it.'

/** An agent that the configuration alone defines. */
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

/** An agent that is there by itself; what the configuration says of it is laid over. */
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
    // It only reads, whatever it runs for that.
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
 * Whether an agent gets the tools for queue and inbox, where nobody has said so: by its prompt. They
 * are a part of what the built-in agent is.
 */
export function getsQueue(agent: DirectAgent, phases: Phases): boolean {
  if (agent.queue !== undefined) return agent.queue
  const isNative = agent.engine === 'native'
  if (isNative && namesVerbs(agent)) return true
  const usesVerbs = phases.teardown.length > 0 || hasSetup(phases)
  const hasAll = isNative && agent.allowedTools === undefined
  return (usesVerbs || hasAll) && !onlyReads(agent)
}

/** With one of these an agent changes something, or lets others do it. */
const CHANGING = /^(?:Bash|Edit|MultiEdit|NotebookEdit|Write|Task|Agent|mcp__.*)$/

/** Whether it is meant to change nothing: the power to start other agents is not for it. */
export function onlyReads(agent: DirectAgent): boolean {
  if (agent.engine === 'native') return changesNothing(agent)
  const { allowedTools, permissionMode } = agent
  if (permissionMode === 'plan') return true
  const names = allowedTools?.map((tool) => tool.replace(/\(.*$/s, '').trim())
  return names !== undefined && !names.some((name) => CHANGING.test(name))
}
