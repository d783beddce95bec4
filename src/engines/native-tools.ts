import type { NativeAgent } from './engine.ts'

/** What a coding agent works with. */
export const FILE_TOOLS = ['read', 'write', 'edit', 'bash', 'grep', 'glob'] as const

/** What it has for queue and inbox. */
export const QUEUE_TOOLS = [
  'push',
  'run',
  'receive',
  'check',
  'send',
  'queue',
  'inbox',
  'cancel',
] as const

const ALL: readonly string[] = [...FILE_TOOLS, ...QUEUE_TOOLS]
const CHANGING = ['write', 'edit', 'bash']

/** What coding CLIs call them, so that one list of tools does for both engines. */
const OTHER_NAMES: Readonly<Record<string, string>> = { multiedit: 'edit' }

type Limits = Pick<NativeAgent, 'allowedTools' | 'disallowedTools' | 'tools'>

/** The names of the tools that an agent gets, in an order that never changes. */
export function toolNames(agent: Limits, hasQueue: boolean): string[] {
  if (agent.tools === false) return []
  const allowed = agent.allowedTools?.map(ownName)
  const shut = (agent.disallowedTools ?? []).map(ownName)
  const isOpen = (name: string) => allowed?.includes(name) !== false && !shut.includes(name)
  // A list that names verbs means those alone; otherwise all of them come together.
  const verbs = QUEUE_TOOLS.filter(namesVerbs(agent) ? isOpen : (name) => !shut.includes(name))
  return [...FILE_TOOLS.filter(isOpen), ...(hasQueue ? verbs : [])]
}

/** Whether its list of tools names some of those for queue and inbox. */
export function namesVerbs({ allowedTools = [] }: Limits): boolean {
  const verbs: readonly string[] = QUEUE_TOOLS
  return allowedTools.some((tool) => verbs.includes(ownName(tool)))
}

/** Whether it can change no file: the power to start other agents is not for it. */
export function changesNothing(agent: Limits): boolean {
  const names = toolNames(agent, false)
  return !CHANGING.some((name) => names.includes(name))
}

/** Names in its lists that mean nothing here. */
export function unknownTools({ allowedTools = [], disallowedTools = [] }: Limits): string[] {
  return [...allowedTools, ...disallowedTools].filter((tool) => !ALL.includes(ownName(tool)))
}

/** `Bash(git *)` → `bash`, `mcp__forkhestra__push` → `push`. */
export function ownName(tool: string): string {
  const name = tool
    .replace(/\(.*$/s, '')
    .replace(/^mcp__forkhestra__/, '')
    .trim()
    .toLowerCase()
  return OTHER_NAMES[name] ?? name
}
