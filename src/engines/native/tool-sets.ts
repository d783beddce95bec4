import type { NativeAgent } from '../engine.ts'
import { FILE_TOOLS, isAllowed, QUEUE_TOOLS } from '../tool-names.ts'

const CHANGING = ['write', 'edit', 'bash']

type ToolSettings = Pick<NativeAgent, 'allowedTools' | 'disallowedTools' | 'tools'>

/** The tools that an agent gets, in a fixed order. */
export function toolNames(agent: ToolSettings, hasQueue: boolean): string[] {
  if (agent.tools === false) return []
  const { disallowedTools } = agent
  // A list that names some queue tools allows those only; otherwise the agent gets all of them.
  const lists = namesQueueTools(agent) ? agent : { disallowedTools }
  const queueTools = hasQueue ? QUEUE_TOOLS.filter((name) => isAllowed(name, lists)) : []
  return [...FILE_TOOLS.filter((name) => isAllowed(name, agent)), ...queueTools]
}

/** Whether its list of allowed tools names queue or inbox tools. */
export function namesQueueTools({ allowedTools }: ToolSettings): boolean {
  return allowedTools !== undefined && QUEUE_TOOLS.some((name) => isAllowed(name, { allowedTools }))
}

/** Whether it cannot change files; such an agent must not start others that can. */
export function isReadOnly(agent: ToolSettings): boolean {
  const names = toolNames(agent, false)
  return !CHANGING.some((name) => names.includes(name))
}
