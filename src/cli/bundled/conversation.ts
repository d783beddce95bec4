import { readFileSync } from 'node:fs'
import type { ClaudeAgent } from '../../engines/engine.ts'
import { statOf } from '../../base/files.ts'

/** How a coding CLI is called for a conversation: it asks before it acts, and nothing is read by us. */
export function conversationArgv(agent: ClaudeAgent, prompt: string | undefined): string[] {
  const { program, model, mcpConfig, settings, allowedTools, disallowedTools } = agent
  return [
    program,
    '--append-system-prompt',
    readPrompt(agent),
    '--model',
    model,
    ...(mcpConfig === undefined ? [] : ['--mcp-config', mcpConfig]),
    ...(settings === undefined ? [] : ['--settings', settings]),
    ...(allowedTools === undefined ? [] : ['--allowedTools', allowedTools.join(',')]),
    ...(disallowedTools === undefined ? [] : ['--disallowedTools', disallowedTools.join(',')]),
    ...(prompt === undefined ? [] : ['--', prompt]),
  ]
}

/** Without the words for an agent that nobody answers. */
function readPrompt({ systemPrompt }: ClaudeAgent): string {
  for (const prompt of systemPrompt) {
    if ('text' in prompt) return prompt.text
    if (statOf(prompt.file) !== undefined) return readFileSync(prompt.file, 'utf8')
  }
  return ''
}
