import { resolve } from 'node:path'
import { UserError, type Problem } from '../../base/errors.ts'
import { isMcpTool } from '../../engines/claude/engine.ts'
import type { ClaudeAgent } from '../../engines/engine.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import type { Facts } from './facts.ts'
import { collect, PlanError } from './problems.ts'

const DEFAULT_MODEL = 'sonnet'
const DEFAULT_MAX_TURNS = 100

export function makeClaudeAgent(
  name: string,
  systemPrompt: ClaudeAgent['systemPrompt'],
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
    ...(mcpConfig ? { mcpConfig: resolve(base, mcpConfig) } : {}),
    ...(settings ? { settings: resolve(base, settings) } : {}),
    ...(allowedTools === undefined ? {} : { allowedTools }),
    ...(disallowedTools === undefined ? {} : { disallowedTools }),
    ...(permissionMode === undefined ? {} : { permissionMode }),
    ...(userSettings === undefined ? {} : { userSettings }),
    ...(queue === undefined ? {} : { queue }),
  }
}

function findClaude(name: string, facts: Facts): string {
  const fact = facts.programOnPath('claude')
  if (fact.kind === 'program') return fact.path
  if (fact.kind === 'unusable')
    throw new UserError(
      `Agent '${name}' needs claude (${fact.path}), which ${fact.problem}.`,
      fact.hint,
    )
  throw new UserError(
    `Agent '${name}' needs Claude Code, and no program is called 'claude' on PATH.`,
    'Install it with npm install -g @anthropic-ai/claude-code, then log in: claude. See: forkhestra doctor',
  )
}

const BYPASS = 'bypassPermissions'

/** `claude` would refuse this as well, but only after the chain has started. */
function checkPermissions(name: string, mode: string | undefined, { mustAsk }: Facts): void {
  if (!mustAsk || (mode !== undefined && mode !== BYPASS)) return
  throw new UserError(
    `Agent '${name}' works without asking for permission, which claude refuses for root.`,
    'Run it as another user, set IS_SANDBOX=1 in a disposable container, or give the agent a "permissionMode".',
  )
}

/** Warnings about tool lists that cannot be enforced. */
export function agentWarnings(agent: ClaudeAgent): string[] {
  const { name, allowedTools = [], permissionMode = BYPASS } = agent
  const patterns =
    permissionMode === BYPASS ? allowedTools.filter((tool) => tool.includes('(')) : []
  return [
    ...(permissionMode === BYPASS ? allowedTools.filter(isMcpTool) : []).map(
      (tool) =>
        `agent '${name}': not only "${tool}", but every tool of its MCP servers can be called.`,
    ),
    ...patterns.map(
      (tool) =>
        `agent '${name}': "${tool}" cannot be enforced without permission prompts; the whole tool is allowed.`,
    ),
  ]
}
