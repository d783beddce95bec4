import { UserError } from '../../base/errors.ts'
import type { DirectAgent, ResolvedAgent } from '../../engines/engine.ts'
import { namesVerbs } from '../../engines/native-tools.ts'
import { onlyReads } from '../../plan/direct-agent.ts'
import type { Rights, StepNode } from '../../plan/plan.ts'

/** What those may at most do that an agent queues; undefined: everything. */
export function rightsOf(pusher: StepNode | undefined): Rights | undefined {
  return pusher === undefined || pusher.agent.engine === 'binary' ? pusher?.rights : pusher.agent
}

/** From the one that lets an agent do least to the one that asks nobody. */
const MODES = ['plan', 'dontAsk', 'default', 'acceptEdits', 'auto', 'bypassPermissions']
const UNASKED = MODES.at(-1)!

/**
 * A program can do everything: where whoever queues it may not, the configuration has to name it as
 * an agent.
 */
export function checkProgram({ engine, name }: ResolvedAgent, rights: Rights | undefined): void {
  if (engine !== 'binary' || rights === undefined || mayRunPrograms(rights)) return
  throw new UserError(
    `The program '${name}' cannot be an agent here: ${rights.name} may not run programs. Only agents that the configuration names can work for it.`,
  )
}

function mayRunPrograms({ allowedTools, disallowedTools, permissionMode }: Rights): boolean {
  const isShell = (tool: string) => sameTool(tool, 'Bash')
  const isAllowed = allowedTools?.some(isShell) !== false
  const isForbidden = disallowedTools?.some(isShell) === true
  return isAllowed && !isForbidden && (permissionMode ?? UNASKED) === UNASKED
}

/** A child has at most the tools of its parent, and asks where its parent has to ask. */
export function withinRights(agent: ResolvedAgent, rights: Rights | undefined): ResolvedAgent {
  if (agent.engine === 'binary' || rights === undefined) return agent
  const { allowedTools: all } = rights
  const own = agent.allowedTools
  const allowedTools = all === undefined ? own : (own?.filter((tool) => isIn(tool, all)) ?? all)
  const shut = [...new Set([...(agent.disallowedTools ?? []), ...(rights.disallowedTools ?? [])])]
  const permissionMode = stricter(agent.permissionMode, rights.permissionMode)
  return {
    ...agent,
    ...(allowedTools === undefined ? {} : { allowedTools }),
    ...(shut.length === 0 ? {} : { disallowedTools: shut }),
    ...(permissionMode === undefined ? {} : { permissionMode }),
  }
}

/** Of a mode that is not known here that of the parent is kept. */
function stricter(own: string | undefined, parent: string | undefined): string | undefined {
  if (own === undefined || parent === undefined) return parent ?? own
  const isStricter = MODES.includes(own) && MODES.indexOf(own) < MODES.indexOf(parent)
  return isStricter ? own : parent
}

/** Sub-agents may queue and start tasks themselves, unless their parent may not. */
export function withQueue(agent: ResolvedAgent, rights: Rights | undefined): ResolvedAgent {
  if (agent.engine === 'binary') return agent
  return { ...agent, queue: rights?.queue !== false && mayQueue(agent) }
}

/** A list that names the verbs means them, whatever else it leaves out. */
function mayQueue(agent: DirectAgent): boolean {
  const isNamed = agent.engine === 'native' && namesVerbs(agent)
  return agent.queue ?? (isNamed || !onlyReads(agent))
}

function isIn(tool: string, tools: readonly string[]): boolean {
  return tools.includes(tool) || tools.some((each) => !each.includes('(') && sameTool(tool, each))
}

/** The engines write the names of tools in capitals or not. */
function sameTool(one: string, other: string): boolean {
  return withoutPattern(one).toLowerCase() === withoutPattern(other).toLowerCase()
}

function withoutPattern(tool: string): string {
  return tool.replace(/\(.*$/s, '').trim()
}
