import { resolve } from 'node:path'
import { UserError } from '../../base/errors.ts'
import { readTextFile } from '../../base/files.ts'

export const PROMPT_LIMIT_BYTES = 16 * 1024 * 1024

/** Distinguishes a missing file, which is fine if it is optional, from other problems. */
export class PromptFileMissing extends UserError {}

/** Returns the unchanged text of a prompt file, relative to `cwd`; throws a `UserError`. */
export function readPromptText(path: string, cwd: string): string {
  const file = readTextFile(resolve(cwd, path), PROMPT_LIMIT_BYTES)
  if (file.kind === 'missing') {
    throw new PromptFileMissing(
      `Prompt file not found: ${path}`,
      `forkhestra looked in ${cwd}. If an earlier step writes it, create it empty first.`,
    )
  }
  if (file.kind === 'unusable') throw new UserError(`Prompt file ${path} ${file.problem}.`)
  if (file.text.includes('\0'))
    throw new UserError(`Prompt file ${path} is not text: it has NUL bytes.`)
  return file.text
}

/** Decodes a prompt that is not from a file; `what` is its name in messages. */
export function decodePrompt(bytes: Uint8Array, what: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new UserError(`${what} is not UTF-8 text.`)
  }
}
