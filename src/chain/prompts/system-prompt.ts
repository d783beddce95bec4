import { UserError } from '../../base/errors.ts'
import { composeSystemPrompt, type Mode } from './mode-awareness.ts'
import { isBlank, type ReadPrompt } from './choose.ts'
import { PromptFileMissing } from './prompt-file.ts'

export type SystemPrompt =
  { readonly text: string } | { readonly file: string; readonly isOptional?: boolean }

/** The system prompt, after the text that tells an agent how it is run. */
export function readSystemPrompt(
  agent: string,
  prompts: readonly SystemPrompt[],
  readPrompt: ReadPrompt,
  mode: Mode = 'step',
): string {
  const text = chooseSystemPrompt(prompts, readPrompt)
  if (text !== '') return composeSystemPrompt(text, mode)
  throw new UserError(
    `The system prompt of '${agent}' is empty.`,
    'Write instructions for the agent, or remove it.',
  )
}

/** The first one that exists and is not blank. */
export function chooseSystemPrompt(
  prompts: readonly SystemPrompt[],
  readPrompt: ReadPrompt,
): string {
  for (const prompt of prompts) {
    const text = 'text' in prompt ? prompt.text : readIfThere(prompt, readPrompt)
    if (text !== undefined && !isBlank(text)) return text
  }
  return ''
}

function readIfThere(
  { file, isOptional = false }: { readonly file: string; readonly isOptional?: boolean },
  readPrompt: ReadPrompt,
): string | undefined {
  try {
    return readPrompt(file, '/')
  } catch (error) {
    if (isOptional && error instanceof PromptFileMissing) return undefined
    throw error
  }
}
