import { closeSync, constants, fstatSync, openSync, readlinkSync, realpathSync } from 'node:fs'
import { resolve, sep } from 'node:path'
import { estimateTokens } from '../base/estimate-tokens.ts'
import { formatBytes, readTextFile, type TextFile } from '../base/files.ts'
import { printable } from '../base/printable.ts'

/** How long a file may be that `/read` takes, unless the configuration says otherwise. */
export const READ_LIMIT = 256 * 1024

/** How long the files of one prompt may be together, or a single one that may be longer. */
const TOTAL_LIMIT = 4 * 1024 * 1024

const LONGEST_SHOWN = 300

export interface ReadOptions {
  /** The project: paths are relative to it, and what is in it may be read. */
  readonly cwd: string
  /** Further files and folders that may be read, with all that is in them. */
  readonly roots?: readonly string[]
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

/** Reads files for one prompt: each path once, and no more than fits into a conversation. */
export function makeReader(options: ReadOptions): (path: string) => ReadAnswer {
  const most = Math.max(TOTAL_LIMIT, options.limitBytes ?? 0)
  const known = new Map<string, ReadAnswer>()
  let total = 0
  const readNext = (path: string): ReadAnswer => {
    const found = readForPrompt(path, options)
    if (!found.ok || total + found.bytes <= most) return found
    return tooMuch(path, most)
  }
  return (path) => {
    const before = known.get(path)
    if (before !== undefined) return before
    const found = readNext(path)
    if (found.ok) total += found.bytes
    known.set(path, found)
    return found
  }
}

function tooMuch(path: string, most: number): ReadAnswer {
  const why = `with it the files of this prompt would be longer than ${formatBytes(most)} together`
  return { ok: false, error: `Cannot read ${shown(path)}: ${why}.` }
}

/**
 * Reads a file for an agent's conversation. Nothing outside of the project and `roots` is read, by
 * whatever links the path leads there: what was opened is judged, not what the path once meant.
 */
export function readForPrompt(path: string, options: ReadOptions): ReadAnswer {
  const { cwd, roots = [], limitBytes = READ_LIMIT } = options
  const places = ['', ...roots].map((place) => resolve(cwd, place))
  const realPlaces = places.flatMap((place) => realPathOf(place) ?? [])
  const wanted = resolve(cwd, path)
  const real = realPathOf(wanted)
  // Whether something outside exists is told to nobody.
  const isAllowed =
    real === undefined ? isInside(wanted, [...places, ...realPlaces]) : isInside(real, realPlaces)
  if (!isAllowed) return outside(path)
  const fd = openWithoutWaiting(real ?? wanted)
  if (fd === undefined) return answer(path, withoutText(readTextFile(wanted, 0)))
  try {
    if (!isInside(pathOfOpened(fd, wanted), realPlaces)) return outside(path)
    // The very file that was judged, even where the path means another one by now.
    const { mtimeMs } = fstatSync(fd)
    return answer(path, readTextFile(`/dev/fd/${fd}`, limitBytes), mtimeMs)
  } finally {
    closeSync(fd)
  }
}

function answer(path: string, file: TextFile, mtimeMs = 0): ReadAnswer {
  if (file.kind === 'missing') return { ok: false, error: `File does not exist: ${shown(path)}` }
  if (file.kind === 'unusable') return refused(path, file.problem)
  if (file.text.includes('\0')) return refused(path, 'is a binary file')
  const bytes = Buffer.byteLength(file.text)
  return { ok: true, text: file.text, bytes, tokens: estimateTokens(bytes), mtimeMs }
}

function outside(path: string): ReadAnswer {
  return refused(path, 'is outside of the project and of readRoots in the configuration')
}

function refused(path: string, problem: string): ReadAnswer {
  return { ok: false, error: `Cannot read ${shown(path)}: it ${shown(problem)}.` }
}

/** A path is what somebody wrote, whatever and however long that is; the system repeats it. */
function shown(text: string): string {
  const start = text.slice(0, LONGEST_SHOWN)
  return `${printable(start).toWellFormed()}${start.length < text.length ? '…' : ''}`
}

/** A file that came to be only now was not there when it was asked for. */
function withoutText(file: TextFile): TextFile {
  return file.kind === 'text' ? { kind: 'missing' } : file
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function openWithoutWaiting(path: string): number | undefined {
  try {
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch {
    return undefined
  }
}

/** Where the opened file is. Linux knows; elsewhere the path is followed once more. */
function pathOfOpened(fd: number, path: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    return realPathOf(path) ?? path
  }
}

function isInside(path: string, places: readonly string[]): boolean {
  return places.some((place) =>
    `${path}${sep}`.startsWith(place.endsWith(sep) ? place : place + sep),
  )
}
