import { closeSync, fstatSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { estimateTokens } from '../base/estimate-tokens.ts'
import { explainOpening, formatBytes, readTextFile, type TextFile } from '../base/files.ts'
import { openInside, type Places } from '../base/places.ts'
import { shownPath } from '../base/printable.ts'

/** How long a file may be that `/read` takes, unless the configuration says otherwise. */
export const READ_LIMIT = 256 * 1024

/** How long the files of one prompt may be together, or a single one that may be longer. */
const TOTAL_LIMIT = 4 * 1024 * 1024

/** Of the project and further files and folders that may be read. */
export interface ReadOptions extends Places {
  readonly limitBytes?: number
}

/** What a read tool would answer; a file that cannot be read is an answer too. */
export type ReadAnswer =
  | {
      readonly ok: true
      readonly text: string
      readonly bytes: number
      readonly tokens: number
      /** When it was changed last, before it was read. */
      readonly mtimeMs: number
    }
  | { readonly ok: false; readonly error: string }

/** A file that was read for the same prompt before, and the path by which. */
interface ReadBefore {
  readonly as: string
}

/**
 * Reads files for one prompt: each once, however it is written, and no more than fits into a
 * conversation.
 */
export function makeReader(options: ReadOptions): (path: string) => ReadAnswer | ReadBefore {
  const most = Math.max(TOTAL_LIMIT, options.limitBytes ?? 0)
  const known = new Map<string, string>()
  let total = 0
  const readNext = (path: string): ReadAnswer => {
    const found = readForPrompt(path, options)
    if (!found.ok || total + found.bytes <= most) return found
    return tooMuch(path, most)
  }
  return (path) => {
    const whole = resolve(options.cwd, path)
    const file = fileAt(whole)
    const before = known.get(file) ?? known.get(whole)
    if (before !== undefined) return { as: before }
    const found = readNext(path)
    // Of what cannot be read each path has an answer of its own.
    known.set(found.ok ? file : whole, path)
    if (found.ok) total += found.bytes
    return found
  }
}

/** Behind all symbolic links, where it is there. */
function fileAt(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

function tooMuch(path: string, most: number): ReadAnswer {
  const why = `with it the files of this prompt would be longer than ${formatBytes(most)} together`
  return { ok: false, error: `Cannot read ${shownPath(path)}: ${why}.` }
}

/** Reads a file for an agent's conversation, and nothing outside of the project and `roots`. */
export function readForPrompt(path: string, options: ReadOptions): ReadAnswer {
  const opened = openInside(path, options)
  if (opened.kind === 'outside') return outside(path)
  if (opened.kind === 'failed') return answer(path, explainOpening(opened.error, opened.path))
  try {
    const { mtimeMs } = fstatSync(opened.fd)
    // The very file that was judged, even where the path means another one by now.
    const file = readTextFile(`/dev/fd/${opened.fd}`, options.limitBytes ?? READ_LIMIT)
    return answer(path, file, mtimeMs)
  } finally {
    closeSync(opened.fd)
  }
}

function answer(path: string, file: TextFile, mtimeMs = 0): ReadAnswer {
  if (file.kind === 'missing')
    return { ok: false, error: `File does not exist: ${shownPath(path)}` }
  if (file.kind === 'unusable') return refused(path, file.problem)
  if (file.text.includes('\0')) return refused(path, 'is a binary file')
  const bytes = Buffer.byteLength(file.text)
  return { ok: true, text: file.text, bytes, tokens: estimateTokens(bytes), mtimeMs }
}

function outside(path: string): ReadAnswer {
  return refused(path, 'is outside of the project and of readRoots in the configuration')
}

function refused(path: string, problem: string): ReadAnswer {
  return { ok: false, error: `Cannot read ${shownPath(path)}: it ${shownPath(problem)}.` }
}
