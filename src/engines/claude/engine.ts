import { ClaudeDecoder } from './decoder.ts'
import { hasOwnSession, RefusalWatch } from './session.ts'
import { makeTranscript } from './transcript.ts'
import { withContextBlock } from '../context-block.ts'
import type {
  ClaudeAgent,
  Engine,
  LaunchFile,
  ProcessLaunch,
  QueueServer,
  Turn,
} from '../engine.ts'
import { plainDecoder } from '../program/decoder.ts'

/** Longer texts are not passed as arguments: Linux refuses a single argument of 128 KiB. */
const ARGUMENT_BYTES = 100 * 1024

/** Placeholder in argv for the file of a long system prompt. */
const SYSTEM_PROMPT_FILE = '<system prompt>'

/** Placeholder in argv for the session in which files have been read. */
const SESSION_FILE = '<files read>'

/** Claude Code in print mode, with JSON events as output. */
export const claudeEngine: Engine<ClaudeAgent> = {
  prepare(agent, turn) {
    const { reads = [] } = turn
    if (reads.length === 0) return makeLaunch(agent, turn)
    const asText = () =>
      makeLaunch(agent, { ...turn, prompt: withContextBlock(turn.prompt, reads) })
    if (hasOwnSession(turn.args)) return asText()
    const id = crypto.randomUUID()
    const text = makeTranscript(reads, { id, cwd: turn.cwd, model: agent.model, now: new Date() })
    const launch = makeLaunch(agent, turn, { name: `${id}.jsonl`, text })
    const watch = new RefusalWatch()
    return {
      ...launch,
      decode: (stream) => watch.wrap(stream, launch.decode(stream)),
      fallback: (hasNoFiles = false) => (hasNoFiles || watch.isRefused ? asText() : undefined),
    }
  },
  limitScope: () => 'claude',
  withModel: (agent, model) => ({ ...agent, model }),
  describeTools: (_, hasQueue) => (hasQueue ? `queue and inbox, ${OWN_MCP_TOOLS}__*` : undefined),
}

function makeLaunch(
  agent: ClaudeAgent,
  turn: Turn,
  session?: Omit<LaunchFile, 'at'>,
): ProcessLaunch {
  const { prompt = '', systemPrompt = '', maxCostUsd, loop } = turn
  const isLong = Buffer.byteLength(systemPrompt) > ARGUMENT_BYTES
  const byStdin = Buffer.byteLength(prompt) > ARGUMENT_BYTES
  const permissions =
    agent.permissionMode === undefined
      ? ['--dangerously-skip-permissions']
      : ['--permission-mode', agent.permissionMode]
  const head = [agent.program, '--print', ...permissions]
  const resume = session === undefined ? [] : ['--resume', SESSION_FILE]
  const argv = [
    ...head,
    ...resume,
    ...(isLong
      ? ['--append-system-prompt-file', SYSTEM_PROMPT_FILE]
      : ['--append-system-prompt', systemPrompt]),
    '--max-turns',
    String(agent.maxTurns),
    ...option('--max-budget-usd', maxCostUsd === undefined ? undefined : inCents(maxCostUsd)),
    ...settings(agent, turn.queue),
    '--output-format',
    'stream-json',
    '--verbose',
    ...turn.args,
    // Options with several values would take the prompt as one of them, and it may start with a dash.
    ...(byStdin ? [] : ['--', prompt]),
  ]
  const files = [
    ...(session === undefined ? [] : [{ at: head.length + 1, ...session }]),
    ...(isLong ? [{ at: head.length + resume.length + 1, text: systemPrompt }] : []),
  ]
  return {
    kind: 'process',
    argv,
    env: {},
    ...(byStdin ? { stdin: prompt } : {}),
    ...(files.length === 0 ? {} : { files }),
    isStructured: true,
    decode: (stream) => (stream === 'out' ? new ClaudeDecoder(loop) : plainDecoder(stream, loop)),
  }
}

/** For an interactive session: it asks for permission, and its output is not read. */
export function conversationArgv(
  agent: ClaudeAgent,
  systemPrompt: string,
  prompt: string | undefined,
): string[] {
  return [
    agent.program,
    '--append-system-prompt',
    systemPrompt,
    ...settings(agent),
    ...(prompt === undefined ? [] : ['--', prompt]),
  ]
}

/** In whole cents, at least one: the CLI does not accept 0. */
function inCents(costUsd: number): string {
  // Rounds off floating-point errors.
  const cents = Math.max(1, Math.ceil(Number((costUsd * 100).toPrecision(12))))
  return (cents / 100).toFixed(2)
}

function option(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, value]
}

function settings(agent: ClaudeAgent, queue?: QueueServer): string[] {
  const servers = mcpConfigs(agent, queue)
  return [
    ...option('--model', agent.model),
    ...(servers.length === 0 ? [] : ['--mcp-config', ...servers]),
    ...option('--settings', agent.settings),
    ...option('--setting-sources', agent.userSettings === false ? 'project,local' : undefined),
    ...tools(agent, queue !== undefined),
  ]
}

const ALL_MCP_TOOLS = 'mcp__*'

/** Name of the MCP server for queue and inbox; part of the names of its tools. */
const OWN_SERVER = 'forkhestra'
const OWN_MCP_TOOLS = `mcp__${OWN_SERVER}`

/** MCP configurations, as paths or JSON: the agent's and our own. */
function mcpConfigs(agent: ClaudeAgent, queue: QueueServer | undefined): string[] {
  const { mcpConfig } = agent
  if (queue === undefined) return mcpConfig === undefined ? [] : [mcpConfig]
  const { program: command, env } = queue
  // Models rarely use tools that they have to search for first.
  const server = { type: 'stdio', command, args: ['mcp'], env, alwaysLoad: true }
  const own = JSON.stringify({ mcpServers: { [OWN_SERVER]: server } })
  // The agent's servers are hidden if none of their tools is allowed.
  return mcpConfig === undefined || !allowsServers(agent) ? [own] : [mcpConfig, own]
}

function allowsServers({ allowedTools }: ClaudeAgent): boolean {
  return allowedTools === undefined || allowedTools.some(isMcpTool)
}

/** Options that restrict the agent to the allowed tools. */
function tools(agent: ClaudeAgent, hasQueue: boolean): string[] {
  const { allowedTools, disallowedTools = [], permissionMode } = agent
  const allowsMcp = allowsServers(agent)
  const denied = allowsMcp || hasQueue ? disallowedTools : [...disallowedTools, ALL_MCP_TOOLS]
  // In these modes tools need a permission that no user is present to grant.
  const asks = allowedTools !== undefined || permissionMode !== undefined
  const own = hasQueue && asks ? [OWN_MCP_TOOLS] : undefined
  const allowed = allowedTools === undefined ? own : [...allowedTools, ...(own ?? [])]
  return [
    ...option('--allowedTools', allowed?.join(',')),
    ...option('--tools', allowedTools && builtInTools(allowedTools).join(',')),
    ...option('--disallowedTools', denied.length === 0 ? undefined : denied.join(',')),
    ...(needsStrictMcp(agent, hasQueue) ? ['--strict-mcp-config'] : []),
  ]
}

/** Whether to exclude MCP servers of the user that the agent's configuration does not name. */
function needsStrictMcp(agent: ClaudeAgent, hasQueue: boolean): boolean {
  if (agent.allowedTools === undefined) return false
  return allowsServers(agent) ? agent.mcpConfig !== undefined : hasQueue
}

export function isMcpTool(tool: string): boolean {
  return tool.startsWith('mcp__')
}

/**
 * Without permission checks, `--allowedTools` excludes nothing, but `--tools` does. It accepts names
 * of built-in tools only.
 */
export function builtInTools(allowed: readonly string[]): string[] {
  const names = allowed.map((tool) => tool.replace(/\(.*$/s, '').trim())
  return [...new Set(names.filter((name) => !isMcpTool(name)))]
}
