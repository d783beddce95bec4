import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  statSync,
  writeSync,
  type Stats,
} from 'node:fs'
import { errorCode, errorText } from './errors.ts'

/** What is at a path; undefined where the path leads nowhere, for whatever reason. */
export function statOf(path: string): Stats | undefined {
  try {
    // An error that nobody reads takes longer to make than all the rest.
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** The same without following a link at its end. */
export function lstatOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Whether there is not even a link; many files are asked for in vain, and an error is slow to make. */
function isNothing(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) === undefined
  } catch {
    return false
  }
}

export type TextFile =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unusable'; readonly problem: string }

/**
 * Reads a UTF-8 file that a person or an agent wrote, and says in words what is wrong with it.
 * Only regular files: a FIFO or a device would block or never end.
 */
export function readTextFile(path: string, limitBytes: number): TextFile {
  if (isNothing(path)) return { kind: 'missing' }
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
      const [size, limit] = sizesInWords(stat.size, limitBytes)
      return unusable(`is ${size} long, the limit is ${limit}`)
    }
    const bytes = readUpTo(fd, stat.size)
    return {
      kind: 'text',
      text: decoder.decode(bytes),
    }
  } catch (error) {
    if (error instanceof TypeError) return unusable('is not UTF-8 text')
    return unusable(`cannot be read: ${errorText(error)}`)
  } finally {
    closeSync(fd)
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

type WithoutText = Exclude<TextFile, { kind: 'text' }>

/** Why a file could not be opened for reading, in words. */
export function explainOpening(error: unknown, path: string): WithoutText {
  const code = errorCode(error)
  if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing' }
  // A folder that may not be entered hides whether there is such a file.
  if (code === 'EACCES' && statOf(path) === undefined) return { kind: 'missing' }
  if (code === 'EACCES' || code === 'EPERM') return unusable('may not be read by this user')
  if (code === 'ELOOP') return unusable('is a symbolic link that leads in a circle')
  return unusable(`cannot be opened: ${errorText(error)}`)
}

function unusable(problem: string): WithoutText {
  return { kind: 'unusable', problem }
}

const ROOM_BYTES = 64 * 1024
let room: Uint8Array | undefined

/** What is read holds until the next call: of thousands of files each would need memory of its own. */
function readUpTo(fd: number, size: number): Uint8Array {
  const bytes = size > ROOM_BYTES ? new Uint8Array(size) : (room ??= new Uint8Array(ROOM_BYTES))
  let length = 0
  while (length < size) {
    const got = readSync(fd, bytes, length, size - length, null)
    if (got === 0) break
    length += got
  }
  return bytes.subarray(0, length)
}

/** Writes everything: the system may take less at a time. */
export function writeAll(fd: number, bytes: Uint8Array): void {
  let done = 0
  while (done < bytes.length) done += writeSync(fd, bytes, done)
}

/** Two sizes of which the first is larger: where rounding would hide that, in bytes. */
export function sizesInWords(size: number, limit: number): readonly [string, string] {
  const words = [formatBytes(size), formatBytes(limit)] as const
  return words[0] === words[1] ? [`${size} bytes`, `${limit} bytes`] : words
}

/** `100 KiB`, `1.5 MiB`: binary units, because the limits that matter are powers of two. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? 'byte' : 'bytes'}`
  const [value, unit] = bytes < 1024 ** 2 ? [bytes / 1024, 'KiB'] : [bytes / 1024 ** 2, 'MiB']
  return `${Number(value.toFixed(1))} ${unit}`
}
