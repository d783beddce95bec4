import type { AgentConfig } from '../chain/parse/chains-schema.ts'
import { choosePrompt, type PromptCandidate, type PromptLevel } from '../chain/prompts/choose.ts'
import * as modes from '../chain/prompts/system-prompt.ts'
import { readPromptText } from '../chain/prompts/prompt-file.ts'

/** The content of a prompt file; throws a `UserError` if it cannot be used. */
export async function readPromptFile(path: string, cwd: string): Promise<string> {
  return readPromptText(path, cwd)
}

export interface PromptSources {
  readonly cliPrompt?: string | undefined
  readonly cliPromptFile?: string | undefined
  readonly stepPrompt?: string | undefined
  readonly stepPromptFile?: string | undefined
  readonly chainPrompt?: string | undefined
  readonly chainPromptFile?: string | undefined
  readonly agentDefault?: AgentConfig | undefined
  readonly cwd: string
}

/** The prompt with the highest precedence, if there is one. */
export async function resolvePrompt(sources: PromptSources): Promise<string | undefined> {
  const { cwd: base, agentDefault } = sources
  const level = (name: PromptLevel, text?: string, file?: string): PromptCandidate[] => [
    ...(text === undefined ? [] : [{ level: name, text: [text] }]),
    ...(file === undefined || file === '' ? [] : [{ level: name, file: [file], base }]),
  ]
  const candidates = [
    ...level('command line', sources.cliPrompt, sources.cliPromptFile),
    ...level('step', sources.stepPrompt, sources.stepPromptFile),
    ...level('chain', sources.chainPrompt, sources.chainPromptFile),
    ...level('agent default', agentDefault?.defaultPrompt, agentDefault?.defaultPromptFile),
  ]
  return choosePrompt(candidates, new Map(), readPromptText)?.text
}

/** The system prompt of a direct agent: its own, after the text on how it is run. */
export async function composeSystemPrompt(text: string): Promise<string> {
  return modes.composeSystemPrompt(text)
}

/** The agent's own system prompt; empty if it has none. */
export async function loadAgentSystemPrompt(config: AgentConfig, cwd: string): Promise<string> {
  return modes.loadAgentSystemPrompt(config, cwd)
}
