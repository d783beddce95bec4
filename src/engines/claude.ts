import { ClaudeDecoder } from './claude-decoder.ts'
import { hasOwnSession, RefusalWatch } from './claude-session.ts'
import { makeTranscript } from './claude-transcript.ts'
import { withContextBlock } from './context-block.ts'
import type { ClaudeAgent, Engine, LaunchFile, ProcessLaunch, QueueServer, Turn } from './engine.ts'
import { plainDecoder } from './plain-decoder.ts'

/** Longer texts do not go onto the command line: Linux refuses a single argument of 128 KiB. */
const ARGUMENT_BYTES = 100 * 1024

/** Stands in argv, and in what is shown of it, for the file of a long system prompt. */
const SYSTEM_PROMPT_FILE = '<system prompt>'

/** The same for a session in which files are read already. */
const SESSION_FILE = '<files read>'

/** Claude Code in print mode: it speaks JSON, one event a line. */
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
      decode: (stream) => watch.over(stream, launch.decode(stream)),
      instead: (hasNoFiles = false) => (hasNoFiles || watch.isRefused ? asText() : undefined),
    }
  },
}

function makeLaunch(
  agent: ClaudeAgent,
  turn: Turn,
  session?: Omit<LaunchFile, 'at'>,
): ProcessLaunch {
  const { prompt = '', systemPrompt = '' } = turn
  const isLong = Buffer.byteLength(systemPrompt) > ARGUMENT_BYTES
  const byStdin = Buffer.byteLength(prompt) > ARGUMENT_BYTES
  const head = [agent.program, '--print', ...permissions(agent)]
  const resume = session === undefined ? [] : ['--resume', SESSION_FILE]
  const argv = [
    ...head,
    ...resume,
    ...(isLong
      ? ['--append-system-prompt-file', SYSTEM_PROMPT_FILE]
      : ['--append-system-prompt', systemPrompt]),
    '--max-turns',
    String(agent.maxTurns),
    ...budget(turn),
    ...settings(agent, turn.queue),
    '--output-format',
    'stream-json',
    '--verbose',
    ...turn.args,
    // Options that take several values would swallow a prompt, and so would a leading dash.
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
    decode: (stream) => makeDecoder(stream, turn),
  }
}

/** For a conversation: it asks before it acts, and nothing is read by us. */
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

function makeDecoder(stream: 'out' | 'err', { loop }: Turn) {
  return stream === 'out' ? new ClaudeDecoder(loop) : plainDecoder(stream, loop)
}

/** In cents: the CLI takes no limit of nothing. */
function budget({ maxCostUsd }: Turn): string[] {
  if (maxCostUsd === undefined) return []
  // Twelve digits are enough for any budget, and leave out what floating point adds.
  const cents = Math.max(1, Math.ceil(Number((maxCostUsd * 100).toPrecision(12))))
  return ['--max-budget-usd', (cents / 100).toFixed(2)]
}

function permissions({ permissionMode }: ClaudeAgent): string[] {
  return permissionMode === undefined
    ? ['--dangerously-skip-permissions']
    : ['--permission-mode', permissionMode]
}

function settings(agent: ClaudeAgent, queue?: QueueServer): string[] {
  const { model, settings: file } = agent
  const servers = serversOf(agent, queue)
  return [
    '--model',
    model,
    ...(servers.length === 0 ? [] : ['--mcp-config', ...servers]),
    ...(file === undefined ? [] : ['--settings', file]),
    ...(agent.userSettings === false ? ['--setting-sources', 'project,local'] : []),
    ...tools(agent, queue !== undefined),
  ]
}

const EVERY_MCP_TOOL = 'mcp__*'

/** What the server of queue and inbox is called, and with it its tools. */
const OWN_SERVER = 'forkhestra'
const EVERY_TOOL_OF_OURS = `mcp__${OWN_SERVER}`

/** Files and texts with servers: those of the agent, and our own. */
function serversOf(agent: ClaudeAgent, queue: QueueServer | undefined): string[] {
  const { mcpConfig } = agent
  if (queue === undefined) return mcpConfig === undefined ? [] : [mcpConfig]
  const { program: command, env } = queue
  // They are few, and who has to search for them first does not think of them.
  const server = { type: 'stdio', command, args: ['mcp'], env, alwaysLoad: true }
  const own = JSON.stringify({ mcpServers: { [OWN_SERVER]: server } })
  // Of servers none of whose tools is allowed nothing may be seen.
  return mcpConfig === undefined || !allowsServers(agent) ? [own] : [mcpConfig, own]
}

function allowsServers({ allowedTools }: ClaudeAgent): boolean {
  return allowedTools === undefined || allowedTools.some(isMcpTool)
}

/** The options by which nothing but the allowed tools is left. */
function tools(agent: ClaudeAgent, hasQueue: boolean): string[] {
  const { allowedTools, disallowedTools = [], permissionMode } = agent
  const isOpen = allowsServers(agent)
  const shut = isOpen || hasQueue ? disallowedTools : [...disallowedTools, EVERY_MCP_TOOL]
  // Where somebody is asked, nobody is there to allow it.
  const asks = allowedTools !== undefined || permissionMode !== undefined
  const allowed = [...(allowedTools ?? []), ...(hasQueue && asks ? [EVERY_TOOL_OF_OURS] : [])]
  return [
    ...(allowed.length === 0 && allowedTools === undefined
      ? []
      : ['--allowedTools', allowed.join(',')]),
    ...(allowedTools === undefined ? [] : ['--tools', builtInTools(allowedTools).join(',')]),
    ...(shut.length === 0 ? [] : ['--disallowedTools', shut.join(',')]),
    ...(needsStrictness(agent, hasQueue) ? ['--strict-mcp-config'] : []),
  ]
}

/** Of servers that are allowed, those of the agent are meant, and not what the user has besides. */
function needsStrictness(agent: ClaudeAgent, hasQueue: boolean): boolean {
  if (agent.allowedTools === undefined) return false
  return allowsServers(agent) ? agent.mcpConfig !== undefined : hasQueue
}

export function isMcpTool(tool: string): boolean {
  return tool.startsWith('mcp__')
}

/**
 * Where nobody is asked for permission, `--allowedTools` alone shuts nothing out, `--tools` does. It
 * takes the names of built-in tools only.
 */
export function builtInTools(allowed: readonly string[]): string[] {
  const names = allowed.map((tool) => tool.replace(/\(.*$/s, '').trim())
  return [...new Set(names.filter((name) => !isMcpTool(name)))]
}
