import { isBlank } from '../parse/prompt/parse-command.ts'
import { fillTemplate, renderTemplate, type Template } from '../parse/template.ts'

/** Where a prompt may come from, highest precedence first. */
export type PromptLevel = 'command line' | 'step' | 'chain' | 'agent default' | 'built-in'

/** One possible source of the prompt; files are read again in every iteration. */
export type PromptCandidate =
  | { readonly level: PromptLevel; readonly text: Template }
  | { readonly level: PromptLevel; readonly file: Template; readonly base: string }

export interface ChosenPrompt {
  /** As written, with its commands. */
  readonly text: string
  readonly source: PromptSource
  /** For parsing: values in it are plain text, never commands. */
  readonly template: Template
}

interface PromptSource {
  readonly level: PromptLevel
  readonly file?: string
}

/** Reads a prompt file relative to a folder, or throws a `UserError`. */
export type ReadPrompt = (path: string, base: string) => string

export type Values = ReadonlyMap<string, string>

/**
 * The first candidate that is not blank. `values` fill the paths of files and, unless `asWritten`,
 * the inline texts; the content of files is not changed.
 */
export function choosePrompt(
  candidates: readonly PromptCandidate[],
  values: Values,
  readPrompt: ReadPrompt,
  { asWritten = false } = {},
): ChosenPrompt | undefined {
  for (const candidate of candidates) {
    if ('text' in candidate) {
      const template = asWritten ? candidate.text : fillTemplate(candidate.text, values)
      const text = renderTemplate(template)
      if (!isBlank(text)) return { text, template, source: { level: candidate.level } }
    } else {
      const path = renderTemplate(fillTemplate(candidate.file, values))
      const text = readPrompt(path, candidate.base)
      const source = { level: candidate.level, file: path }
      if (!isBlank(text)) return { text, template: [text], source }
    }
  }
  return undefined
}
