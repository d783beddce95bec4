import { resolve } from 'node:path'
import { UserError } from '../base/errors.ts'
import { isMcpTool } from '../engines/claude.ts'
import type { ClaudeAgent } from '../engines/engine.ts'
import type { AgentConfig } from '../parse/chains-schema.ts'
import type { Facts } from './facts.ts'

const DEFAULT_MODEL = 'sonnet'
const DEFAULT_MAX_TURNS = 100

/** An agent that `claude` plays. */
export function makeClaudeAgent(
  name: string,
  systemPrompt: ClaudeAgent['systemPrompt'],
  config: AgentConfig,
  base: string,
  facts: Facts,
): ClaudeAgent {
  const { mcpConfig, settings, allowedTools, disallowedTools, permissionMode } = config
  const { userSettings, queue } = config
  checkPermissions(name, permissionMode, facts)
  return {
    engine: 'claude',
    name,
    program: findClaude(name, facts),
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

/** `claude` would refuse by itself, but only when the chain is already running. */
function checkPermissions(name: string, mode: string | undefined, { mustAsk }: Facts): void {
  if (!mustAsk || (mode !== undefined && mode !== BYPASS)) return
  throw new UserError(
    `Agent '${name}' works without asking for permission, and claude refuses that to root.`,
    'Run it as another user; or, in a container that may be broken, set IS_SANDBOX=1; or give the agent a "permissionMode".',
  )
}

/** What a person should know before an agent starts. */
export function agentWarnings(agent: ClaudeAgent): string[] {
  const { name, allowedTools = [], permissionMode = BYPASS } = agent
  const patterns =
    permissionMode === BYPASS ? allowedTools.filter((tool) => tool.includes('(')) : []
  return [
    ...(permissionMode === BYPASS ? allowedTools.filter(isMcpTool) : []).map(
      (tool) => `agent '${name}': beside "${tool}" every tool of its MCP servers can be called.`,
    ),
    ...patterns.map(
      (tool) =>
        `agent '${name}': "${tool}" cannot be enforced where nobody is asked; the whole tool is allowed.`,
    ),
  ]
}
