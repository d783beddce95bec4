import type { NativeAgent } from './engine.ts'
import { FILE_TOOLS, mayUse, QUEUE_TOOLS } from './tool-names.ts'

const CHANGING = ['write', 'edit', 'bash']

type Limits = Pick<NativeAgent, 'allowedTools' | 'disallowedTools' | 'tools'>

/** The names of the tools that an agent gets, in an order that never changes. */
export function toolNames(agent: Limits, hasQueue: boolean): string[] {
  if (agent.tools === false) return []
  const { disallowedTools } = agent
  // A list that names verbs means those alone; otherwise all of them come together.
  const lists = namesVerbs(agent) ? agent : { disallowedTools }
  const verbs = hasQueue ? QUEUE_TOOLS.filter((name) => mayUse(name, lists)) : []
  return [...FILE_TOOLS.filter((name) => mayUse(name, agent)), ...verbs]
}

/** Whether its list of tools names some of those for queue and inbox. */
export function namesVerbs({ allowedTools }: Limits): boolean {
  return allowedTools !== undefined && QUEUE_TOOLS.some((name) => mayUse(name, { allowedTools }))
}

/** Whether it can change no file: the power to start other agents is not for it. */
export function changesNothing(agent: Limits): boolean {
  const names = toolNames(agent, false)
  return !CHANGING.some((name) => names.includes(name))
}
