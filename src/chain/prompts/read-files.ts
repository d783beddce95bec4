import { closeSync, fstatSync } from 'node:fs'
import { resolve } from 'node:path'
import { estimateTokens } from '../../base/estimate-tokens.ts'
import {
  explainOpening,
  formatBytes,
  readTextFile,
  realPathOf,
  type TextFile,
} from '../../base/files.ts'
import { openInside, type Places } from '../../base/places.ts'
import { shownPath } from '../../base/terminal/printable.ts'

/** The default limit for one file of `/read`. */
export const READ_LIMIT = 256 * 1024

/** The limit for all files of one prompt, unless the limit for one file is higher. */
const TOTAL_LIMIT = 4 * 1024 * 1024

export interface ReadOptions extends Places {
  readonly limitBytes?: number
}

/** The result of a read tool; a file that cannot be read is an error result. */
export type ReadAnswer =
  | {
      readonly ok: true
      readonly text: string
      readonly bytes: number
      readonly tokens: number
      /** The modification time before it was read. */
      readonly mtimeMs: number
    }
  | { readonly ok: false; readonly error: string }

/** Already read for this prompt, under the path `as`. */
interface ReadBefore {
  readonly as: string
}

/** Reads the files of one prompt: each only once, even under several paths, and up to a total limit. */
export function makeReader(options: ReadOptions): (path: string) => ReadAnswer | ReadBefore {
  const most = Math.max(TOTAL_LIMIT, options.limitBytes ?? 0)
  const known = new Map<string, string>()
  let total = 0
  return (path) => {
    const whole = resolve(options.cwd, path)
    const file = realPathOf(whole) ?? whole
    const before = known.get(file) ?? known.get(whole)
    if (before !== undefined) return { as: before }
    const found = readForPrompt(path, options)
    const isTooMuch = found.ok && total + found.bytes > most
    // If it cannot be read, each path gets a separate error.
    known.set(found.ok && !isTooMuch ? file : whole, path)
    if (isTooMuch) {
      const limit = formatBytes(most)
      return refused(path, `the files of this prompt would exceed ${limit} in total`)
    }
    if (found.ok) total += found.bytes
    return found
  }
}

/** Reads a file for an agent's conversation; it must be in the project or in `roots`. */
export function readForPrompt(path: string, options: ReadOptions): ReadAnswer {
  const opened = openInside(path, options)
  if (opened.kind === 'outside') {
    return refused(path, 'it is outside the project and not under "readRoots" in the configuration')
  }
  if (opened.kind === 'failed') return answer(path, explainOpening(opened.error, opened.path))
  try {
    const { mtimeMs } = fstatSync(opened.fd)
    // Read through its descriptor: the path may refer to another file by now.
    const file = readTextFile(`/dev/fd/${opened.fd}`, options.limitBytes ?? READ_LIMIT)
    return answer(path, file, mtimeMs)
  } finally {
    closeSync(opened.fd)
  }
}

function answer(path: string, file: TextFile, mtimeMs = 0): ReadAnswer {
  if (file.kind === 'missing')
    return { ok: false, error: `File does not exist: ${shownPath(path)}` }
  if (file.kind === 'unusable') return refused(path, `it ${file.problem}`)
  if (file.text.includes('\0')) return refused(path, 'it is a binary file')
  const bytes = Buffer.byteLength(file.text)
  return { ok: true, text: file.text, bytes, tokens: estimateTokens(bytes), mtimeMs }
}

function refused(path: string, problem: string): ReadAnswer {
  return { ok: false, error: `Cannot read ${shownPath(path)}: ${shownPath(problem)}.` }
}
