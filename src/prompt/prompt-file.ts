import { resolve } from 'node:path'
import { UserError } from '../base/errors.ts'
import { readTextFile } from '../base/files.ts'

const PROMPT_FILE_LIMIT_BYTES = 16 * 1024 * 1024

/** There is no such file; for one that need not be there, that is no mistake. */
export class PromptFileMissing extends UserError {}

/** Reads a prompt file relative to `cwd`, unchanged; throws a `UserError` that says what is wrong. */
export function readPromptText(path: string, cwd: string): string {
  const file = readTextFile(resolve(cwd, path), PROMPT_FILE_LIMIT_BYTES)
  if (file.kind === 'missing') {
    throw new PromptFileMissing(
      `Prompt file not found: ${path}`,
      `It was looked for in ${cwd}. If an earlier step writes it, create it empty first.`,
    )
  }
  if (file.kind === 'unusable') throw new UserError(`Prompt file ${path} ${file.problem}.`)
  if (file.text.includes('\0'))
    throw new UserError(`Prompt file ${path} is not text: it has NUL bytes.`)
  return file.text
}
