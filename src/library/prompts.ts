import type { AgentConfig } from '../chain/parse/chains-schema.ts'
import { choosePrompt, type PromptCandidate, type PromptLevel } from '../chain/prompts/choose.ts'
import * as modes from '../chain/prompts/system-prompt.ts'
import { readPromptText } from '../chain/prompts/prompt-file.ts'

/** The content of a prompt file, unchanged; throws a `UserError` that says what is wrong with it. */
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

/** The prompt that wins, or undefined where there is none. */
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

/** The system prompt that a direct agent gets: its own, after the sentences on how it is run. */
export async function composeSystemPrompt(text: string): Promise<string> {
  return modes.composeSystemPrompt(text)
}

/** The own system prompt of an agent; empty where it has none. */
export async function loadAgentSystemPrompt(config: AgentConfig, cwd: string): Promise<string> {
  return modes.loadAgentSystemPrompt(config, cwd)
}
