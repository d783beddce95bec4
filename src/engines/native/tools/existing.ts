import { accessSync, closeSync, constants, fstatSync, readFileSync } from 'node:fs'
import { explainOpening, formatBytes } from '../../../base/files.ts'
import { openInside } from '../../../base/places.ts'
import { notOpened, refused } from './problems.ts'
import { WHOLE_BYTES } from './read.ts'
import type { ToolAnswer, Workspace } from './tool.ts'

/** The current state of a file that may be changed. */
export interface Existing {
  /** Absolute, all links followed. */
  readonly path: string
  readonly bytes: Buffer
  readonly mode: number
}

/** The file, or an answer why it cannot be changed. `missing`: it does not exist, so `write` may create it. */
export function readExisting(
  action: string,
  path: string,
  workspace: Workspace,
): Existing | { readonly missing: boolean; readonly answer: ToolAnswer } {
  const no = (answer: ToolAnswer, missing = false) => ({ missing, answer })
  const opened = openInside(path, workspace)
  if (opened.kind !== 'opened') {
    const missing =
      opened.kind === 'failed' && explainOpening(opened.error, opened.path).kind === 'missing'
    return no(notOpened(action, path, opened, workspace), missing)
  }
  try {
    const stat = fstatSync(opened.fd)
    const problem = problemOf(opened.path, stat)
    if (problem !== undefined) return no(refused(action, path, problem))
    return { path: opened.path, bytes: readFileSync(opened.fd), mode: stat.mode }
  } finally {
    closeSync(opened.fd)
  }
}

interface Stat {
  readonly size: number
  isDirectory(): boolean
  isFile(): boolean
}

function problemOf(path: string, stat: Stat): string | undefined {
  if (stat.isDirectory()) return 'it is a folder'
  if (!stat.isFile()) return 'it is not a regular file'
  if (stat.size > WHOLE_BYTES) {
    return `it is ${formatBytes(stat.size)}, the limit is ${formatBytes(WHOLE_BYTES)}; use bash`
  }
  // Checked here, because replacing a file needs no write permission for it.
  return isWritable(path) ? undefined : 'no permission to write to it'
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
