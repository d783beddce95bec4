import type { AgentConfig } from '../parse/chains-schema.ts'
import { choosePrompt, type PromptCandidate, type PromptLevel } from '../prompt/choose.ts'
import { readPromptText } from '../prompt/prompt-file.ts'

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
