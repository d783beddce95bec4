import { ClaudeDecoder } from './claude-decoder.ts'
import type { ClaudeAgent, Engine, Turn } from './engine.ts'
import { plainDecoder } from './plain-decoder.ts'

/** Longer texts do not go onto the command line: Linux refuses a single argument of 128 KiB. */
const ARGUMENT_BYTES = 100 * 1024

/** Stands in argv, and in what is shown of it, for the file of a long system prompt. */
const SYSTEM_PROMPT_FILE = '<system prompt>'

/** Claude Code in print mode: it speaks JSON, one event a line. */
export const claudeEngine: Engine<ClaudeAgent> = {
  prepare(agent, turn) {
    const { prompt = '', systemPrompt = '' } = turn
    const isLong = Buffer.byteLength(systemPrompt) > ARGUMENT_BYTES
    const byStdin = Buffer.byteLength(prompt) > ARGUMENT_BYTES
    const head = [agent.program, '--print', ...permissions(agent)]
    const argv = [
      ...head,
      ...(isLong
        ? ['--append-system-prompt-file', SYSTEM_PROMPT_FILE]
        : ['--append-system-prompt', systemPrompt]),
      '--max-turns',
      String(agent.maxTurns),
      ...budget(turn),
      ...settings(agent),
      '--output-format',
      'stream-json',
      '--verbose',
      ...turn.args,
      // Options that take several values would swallow a prompt, and so would a leading dash.
      ...(byStdin ? [] : ['--', prompt]),
    ]
    return {
      kind: 'process',
      argv,
      env: {},
      ...(byStdin ? { stdin: prompt } : {}),
      ...(isLong ? { files: [{ at: head.length + 1, text: systemPrompt }] } : {}),
      isStructured: true,
      decode: (stream) => makeDecoder(stream, turn),
    }
  },
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

function settings(agent: ClaudeAgent): string[] {
  const { model, mcpConfig, settings: file } = agent
  return [
    '--model',
    model,
    ...(mcpConfig === undefined ? [] : ['--mcp-config', mcpConfig]),
    ...(file === undefined ? [] : ['--settings', file]),
    ...(agent.userSettings === false ? ['--setting-sources', 'project,local'] : []),
    ...tools(agent),
  ]
}

const EVERY_MCP_TOOL = 'mcp__*'

/** The options by which nothing but the allowed tools is left. */
function tools({ allowedTools, disallowedTools = [], mcpConfig }: ClaudeAgent): string[] {
  const isOpen = allowedTools === undefined || allowedTools.some(isMcpTool)
  const shut = isOpen ? disallowedTools : [...disallowedTools, EVERY_MCP_TOOL]
  return [
    ...(allowedTools === undefined
      ? []
      : [
          '--allowedTools',
          allowedTools.join(','),
          '--tools',
          builtInTools(allowedTools).join(','),
        ]),
    ...(shut.length === 0 ? [] : ['--disallowedTools', shut.join(',')]),
    // Of servers that are allowed, those of the agent are meant, and not what the user has besides.
    ...(allowedTools !== undefined && isOpen && mcpConfig !== undefined
      ? ['--strict-mcp-config']
      : []),
  ]
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
