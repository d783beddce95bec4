import { dropUndefined } from '../../base/objects.ts'
import { UserError } from '../../base/errors.ts'
import type { DirectAgent, ResolvedAgent } from '../../engines/engine.ts'
import { namesQueueTools } from '../../engines/native/tool-sets.ts'
import { onlyReads } from '../../chain/plan/direct-agent.ts'
import type { Rights, StepNode } from '../../chain/plan/plan.ts'

/** The maximum rights of this agent's tasks; undefined means everything. */
export function rightsOf(pusher: StepNode | undefined): Rights | undefined {
  return pusher === undefined || pusher.agent.engine === 'binary' ? pusher?.rights : pusher.agent
}

/** From the strictest to the most permissive. */
const MODES = ['plan', 'dontAsk', 'default', 'acceptEdits', 'auto', 'bypassPermissions']
const UNASKED = MODES.at(-1)!

/**
 * A program can do anything, so if its pusher may not run programs, the configuration must define it as an
 * agent.
 */
export function checkProgram({ engine, name }: ResolvedAgent, rights: Rights | undefined): void {
  if (engine !== 'binary' || rights === undefined || mayRunPrograms(rights)) return
  throw new UserError(
    `'${name}' is a program, and ${rights.name} may not run programs. Add it to "agents" in the configuration, or use an agent that is defined there.`,
  )
}

function mayRunPrograms({ allowedTools, disallowedTools, permissionMode }: Rights): boolean {
  const isShell = (tool: string) => sameTool(tool, 'Bash')
  const isAllowed = allowedTools?.some(isShell) !== false
  const isForbidden = disallowedTools?.some(isShell) === true
  return isAllowed && !isForbidden && (permissionMode ?? UNASKED) === UNASKED
}

/** A child gets at most the tools and the permission mode of its parent. */
export function withinRights(agent: ResolvedAgent, rights: Rights | undefined): ResolvedAgent {
  if (agent.engine === 'binary' || rights === undefined) return agent
  const { allowedTools: all } = rights
  const own = agent.allowedTools
  const allowedTools = all === undefined ? own : (own?.filter((tool) => isIn(tool, all)) ?? all)
  const disallowed = new Set([...(agent.disallowedTools ?? []), ...(rights.disallowedTools ?? [])])
  const disallowedTools = disallowed.size === 0 ? undefined : [...disallowed]
  const permissionMode = stricter(agent.permissionMode, rights.permissionMode)
  return { ...agent, ...dropUndefined({ allowedTools, disallowedTools, permissionMode }) }
}

/** If the mode is unknown, uses that of the parent. */
function stricter(own: string | undefined, parent: string | undefined): string | undefined {
  if (own === undefined || parent === undefined) return parent ?? own
  const isStricter = MODES.includes(own) && MODES.indexOf(own) < MODES.indexOf(parent)
  return isStricter ? own : parent
}

/** Sub-agents may queue and start tasks themselves, unless their parent may not. */
export function withQueueTools(agent: ResolvedAgent, rights: Rights | undefined): ResolvedAgent {
  if (agent.engine === 'binary') return agent
  return { ...agent, queue: rights?.queue !== false && mayQueue(agent) }
}

/** A tool list that names queue tools allows them. */
function mayQueue(agent: DirectAgent): boolean {
  const isNamed = agent.engine === 'native' && namesQueueTools(agent)
  return agent.queue ?? (isNamed || !onlyReads(agent))
}

function isIn(tool: string, tools: readonly string[]): boolean {
  return tools.includes(tool) || tools.some((each) => !each.includes('(') && sameTool(tool, each))
}

/** Engines differ in the case of tool names. */
function sameTool(one: string, other: string): boolean {
  return withoutPattern(one).toLowerCase() === withoutPattern(other).toLowerCase()
}

function withoutPattern(tool: string): string {
  return tool.replace(/\(.*$/s, '').trim()
}
