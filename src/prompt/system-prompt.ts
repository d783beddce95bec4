import { UserError } from '../base/errors.ts'
import { composeSystemPrompt, type Mode } from './mode-awareness.ts'
import { isBlank, type ReadPrompt } from './choose.ts'
import { PromptFileMissing } from './prompt-file.ts'

/** A text, or a file that may, where it is optional, not be there. */
export type SystemPrompt =
  { readonly text: string } | { readonly file: string; readonly isOptional?: boolean }

/** The system prompt that counts, behind the words that tell an agent how it is run. */
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
    'An agent without instructions does anything. Write them, or remove the agent.',
  )
}

/** The first that there is; a blank one counts as absent. */
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
