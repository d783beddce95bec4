import { UserError } from '../base/errors.ts'
import { BUILT_IN_AGENTS, BUNDLED_AGENTS } from '../builtins/agents.ts'
import type { DirectAgent, ResolvedAgent } from '../engines/engine.ts'
import { toolNames } from '../engines/native-tools.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import type { Template } from '../parse/template.ts'
import type { ReadPrompt } from '../prompt/choose.ts'
import { chooseSystemPrompt } from '../prompt/system-prompt.ts'
import { namesTask } from './bundled-args.ts'

/** Takes a task: whoever does that builds. */
const TAKES_TASKS =
  /(?:forge-tasks|forkhestra tasks)\s+next\b|mcp__(?:forge-tasks__|forkhestra__task_)next\b/
/** Looks for a ready task. With --explain it is a question about the order, as planners ask it. */
const LOOKS_FOR_READY = /\b(?:list|ls)\s(?![^\n`]*--explain\b)[^\n`]*--ready\b/

/** The agent of a step, with whether it builds from forge-tasks. */
export function withTaskCheck<Agent extends ResolvedAgent>(
  agent: Agent,
  { tasks }: AgentConfig,
  args: readonly Template[],
  readPrompt: ReadPrompt,
): Agent {
  const { finishesTasks: own, ...rest } = agent
  // An agent with a task of its own is done with that one.
  const builds = !namesTask(args) && (tasks ?? (own === true || buildsFromTasks(agent, readPrompt)))
  return (builds ? { ...rest, finishesTasks: true } : rest) as Agent
}

function buildsFromTasks(agent: ResolvedAgent, readPrompt: ReadPrompt): boolean {
  if (agent.engine === 'binary') return false
  if (roleOf(agent.name)?.finishesTasks === true) return true
  // The bundled worker takes one task and is done with it.
  if (agent.isBundled === true) return false
  const prompt = readOrNothing(agent, readPrompt)
  return TAKES_TASKS.test(prompt) || (LOOKS_FOR_READY.test(prompt) && changesCode(agent))
}

/** What cannot be read is reported where the agent is prepared. */
function readOrNothing({ systemPrompt }: DirectAgent, readPrompt: ReadPrompt): string {
  try {
    return chooseSystemPrompt(systemPrompt, readPrompt)
  } catch (error) {
    if (error instanceof UserError) return ''
    throw error
  }
}

/** A configured agent that has the name of one of ours has its role. */
function roleOf(name: string) {
  if (Object.hasOwn(BUILT_IN_AGENTS, name)) return BUILT_IN_AGENTS[name]
  return Object.hasOwn(BUNDLED_AGENTS, name) ? BUNDLED_AGENTS[name] : undefined
}

/** Whether an agent does one task and is done. */
export function takesTask(agent: ResolvedAgent): boolean {
  return agent.engine !== 'binary' && roleOf(agent.name)?.takesTask === true
}

/** Whether an agent only turns requirements into tasks. */
export function plansTasks(agent: ResolvedAgent): boolean {
  return agent.engine !== 'binary' && roleOf(agent.name)?.createsTasks === true
}

const EDITING = ['Write', 'Edit', 'MultiEdit', 'NotebookEdit']

/** Whether a check of the code says something about the work of an agent. */
export function changesCode(agent: ResolvedAgent): boolean {
  if (agent.engine === 'binary') return true
  if (plansTasks(agent)) return false
  if (agent.engine === 'native') {
    return toolNames(agent, false).some((name) => name === 'write' || name === 'edit')
  }
  const { allowedTools, disallowedTools = [], permissionMode } = agent
  const denied = disallowedTools.map((tool) => tool.trim())
  const allowed = allowedTools?.map((tool) => tool.replace(/\(.*$/s, '').trim())
  return (
    permissionMode !== 'plan' &&
    EDITING.some((tool) => (allowed?.includes(tool) ?? true) && !denied.includes(tool))
  )
}
