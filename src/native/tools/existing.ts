import { accessSync, closeSync, constants, fstatSync, readFileSync } from 'node:fs'
import { explainOpening, formatBytes } from '../../base/files.ts'
import { openInside } from '../../base/places.ts'
import { notOpened, refused } from './problems.ts'
import { WHOLE_BYTES } from './read.ts'
import type { ToolAnswer, Workplace } from './tool.ts'

/** A file that may be changed, as it is now. */
export interface Existing {
  /** Absolute, all links followed. */
  readonly path: string
  readonly bytes: Buffer
  readonly mode: number
}

/** What is to be changed, or the answer why it cannot be. `missing` is an answer too, of which `write` makes a file. */
export function readExisting(
  verb: string,
  path: string,
  workplace: Workplace,
): Existing | { readonly missing: boolean; readonly answer: ToolAnswer } {
  const no = (answer: ToolAnswer, missing = false) => ({ missing, answer })
  const opened = openInside(path, workplace)
  if (opened.kind !== 'opened') {
    const missing =
      opened.kind === 'failed' && explainOpening(opened.error, opened.path).kind === 'missing'
    return no(notOpened(verb, path, opened, workplace), missing)
  }
  try {
    const stat = fstatSync(opened.fd)
    const problem = problemOf(opened.path, stat)
    if (problem !== undefined) return no(refused(verb, path, problem))
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
    return `it is ${formatBytes(stat.size)} long, the limit is ${formatBytes(WHOLE_BYTES)}; use bash`
  }
  // It would be replaced and not written to, which the system permits.
  return isWritable(path) ? undefined : 'this user may not write to it'
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
