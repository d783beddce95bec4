import {
  rmdirSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  statSync,
  writeSync,
  type Stats,
} from 'node:fs'
import { errorCode, errorText, tryOr } from './errors.ts'

/** What is at a path; undefined if it cannot be reached for any reason. */
export function statOf(path: string): Stats | undefined {
  return tryOr(undefined, () => statSync(path, { throwIfNoEntry: false }))
}

/** Like `statOf`, but does not follow a link. */
export function lstatOf(path: string): Stats | undefined {
  return tryOr(undefined, () => lstatSync(path, { throwIfNoEntry: false }))
}

/** The path with all links resolved; undefined if it cannot be reached. */
export function realPathOf(path: string): string | undefined {
  return tryOr(undefined, () => realpathSync(path))
}

export type TextFile =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unusable'; readonly problem: string }

/**
 * Reads a UTF-8 file that a person or an agent wrote, and describes what is wrong with it.
 * Only regular files: a FIFO or a device would block or never end.
 */
export function readTextFile(path: string, limitBytes: number): TextFile {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    return explainOpening(error, path)
  }
  try {
    const stat = fstatSync(fd)
    if (stat.isDirectory()) return unusable('is a directory, expected a file')
    if (!stat.isFile()) return unusable('is not a regular file')
    if (stat.size > limitBytes) {
      const [size, limit] = formatSizes(stat.size, limitBytes)
      return unusable(`is ${size}, over the limit of ${limit}`)
    }
    return { kind: 'text', text: decoder.decode(readUpTo(fd, stat.size)) }
  } catch (error) {
    if (error instanceof TypeError) return unusable('is not UTF-8 text')
    return unusable(`cannot be read: ${errorText(error)}`)
  } finally {
    closeSync(fd)
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

type WithoutText = Exclude<TextFile, { kind: 'text' }>

/** Describes why a file could not be opened for reading. */
export function explainOpening(error: unknown, path: string): WithoutText {
  const code = errorCode(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing' }
  // Without access to the folder, we cannot know whether the file exists.
  if (code === 'EACCES' && statOf(path) === undefined) return { kind: 'missing' }
  if (code === 'EACCES' || code === 'EPERM') return unusable('is not readable by this user')
  if (code === 'ELOOP') return unusable('is in a symbolic link loop')
  return unusable(`cannot be opened: ${errorText(error)}`)
}

function unusable(problem: string): WithoutText {
  return { kind: 'unusable', problem }
}

function readUpTo(fd: number, size: number): Uint8Array {
  const bytes = new Uint8Array(size)
  let length = 0
  while (length < size) {
    const got = readSync(fd, bytes, length, size - length, null)
    if (got === 0) break
    length += got
  }
  return bytes.subarray(0, length)
}

/** Removes a folder unless something is still in it. */
export function removeIfEmpty(folder: string): void {
  tryOr(undefined, () => rmdirSync(folder))
}

/** How long to wait before retrying a full non-blocking pipe. */
const PAUSE_MS = 2

/** Writes all bytes; a single `writeSync` may write fewer, or none to a pipe whose reader is slow. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(fd, bytes, done)
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN') throw error
      Bun.sleepSync(PAUSE_MS)
    }
  }
}

/** A size and the limit that it exceeds, in bytes if rounding would make them look equal. */
export function formatSizes(size: number, limit: number): readonly [string, string] {
  const rounded = [formatBytes(size), formatBytes(limit)] as const
  return rounded[0] === rounded[1] ? [`${size} bytes`, `${limit} bytes`] : rounded
}

/** `100 KiB`, `1.5 MiB`: binary units, because the limits that matter are powers of two. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`
  const [value, unit] = bytes < 1024 ** 2 ? [bytes / 1024, 'KiB'] : [bytes / 1024 ** 2, 'MiB']
  return `${Number(value.toFixed(1))} ${unit}`
}

/** The names in a folder; none if it cannot be read. */
export function listNames(folder: string): string[] {
  return tryOr([], () => readdirSync(folder))
}
