import { composeSystemPrompt } from './mode-awareness.ts'
import type { ReadPrompt } from './choose.ts'
import { PromptFileMissing } from './prompt-file.ts'

/** A text, or a file that may, where it is optional, not be there. */
export type SystemPrompt =
  { readonly text: string } | { readonly file: string; readonly isOptional?: boolean }

/** The first system prompt that there is, behind the words that tell an agent how it is run. */
export function readSystemPrompt(prompts: readonly SystemPrompt[], readPrompt: ReadPrompt): string {
  for (const prompt of prompts) {
    const text = 'text' in prompt ? prompt.text : readIfThere(prompt, readPrompt)
    if (text !== undefined) return composeSystemPrompt(text)
  }
  return composeSystemPrompt('')
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
