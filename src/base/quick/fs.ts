import type * as NodeFs from 'node:fs'
import {
  answer,
  decodeNames,
  foundNothing,
  linux,
  nameOfEntry,
  nextEntry,
  pathBytes,
  readEntries,
  Stat,
  STAT_FIELDS,
} from './linux.ts'

// Stands in for `node:fs` in the verbs of every day, because loading that one takes a fifth of a call.
// It has what they use, with the same meaning: a test compares the two. What is rare, and
// whatever does not go well, is left to `node:fs`, which knows what to say about it.

type Bytes = Uint8Array

/** Loaded by the first call that needs it. */
function whole(): typeof NodeFs {
  return require('node:fs')
}

export const constants = { O_RDONLY: 0, O_NONBLOCK: 0o4000 } as const

const CLOSE_ON_EXEC = 0o2000000
const [WRITE_ONLY, CREATE, EXCLUSIVE, APPEND] = [0o1, 0o100, 0o200, 0o2000]

/** The flags of `open` by the letters that are in use. */
const FLAGS: Readonly<Record<string, number>> = {
  r: constants.O_RDONLY,
  a: WRITE_ONLY | CREATE | APPEND,
  wx: WRITE_ONLY | CREATE | EXCLUSIVE,
}

export function openSync(path: string, flags: string | number, mode = 0o666): number {
  const bits = typeof flags === 'number' ? flags : FLAGS[flags]
  const fd = bits === undefined ? -1 : open(path, bits, mode)
  if (fd >= 0) return fd
  if (bits !== undefined && hasFoundNothing(path)) throw new NoEntry('open', path)
  return whole().openSync(path, flags, mode)
}

/** Of a call that has just failed, if it was made at all. */
function hasFoundNothing(path: string): boolean {
  const libc = linux()
  return libc !== undefined && pathBytes(path) !== undefined && foundNothing(libc)
}

/** What is so often asked for in vain that `node:fs` is not loaded for it. */
class NoEntry extends Error {
  readonly code = 'ENOENT'
  constructor(call: string, path: string) {
    super(`ENOENT: no such file or directory, ${call} '${path}'`)
  }
}

function open(path: string, bits: number, mode: number): number {
  const bytes = pathBytes(path)
  return bytes === undefined ? -1 : (linux()?.open(bytes, bits | CLOSE_ON_EXEC, mode) ?? -1)
}

export function closeSync(fd: number): void {
  if (linux()?.close(fd) !== 0) whole().closeSync(fd)
}

export function readSync(
  fd: number,
  bytes: Bytes,
  offset: number,
  length: number,
  position: null,
): number {
  const got = length === 0 ? 0 : read(fd, bytes.subarray(offset, offset + length))
  return got < 0 ? whole().readSync(fd, bytes, offset, length, position) : got
}

function read(fd: number, bytes: Bytes): number {
  return linux()?.read(fd, bytes, bytes.length) ?? -1
}

export function writeSync(fd: number, bytes: Bytes, offset = 0): number {
  const rest = bytes.subarray(offset)
  const done = rest.length === 0 ? 0 : (linux()?.write(fd, rest, rest.length) ?? -1)
  return done < 0 ? whole().writeSync(fd, bytes, offset) : done
}

export function writeFileSync(to: string | number, content: string | Bytes): void {
  if (typeof to === 'string') return whole().writeFileSync(to, content)
  const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content
  for (let done = 0; done < bytes.length;) done += writeSync(to, bytes, done)
}

export function fsyncSync(fd: number): void {
  if (linux()?.fsync(fd) !== 0) whole().fsyncSync(fd)
}

export function fchmodSync(fd: number, mode: number): void {
  if (linux()?.fchmod(fd, mode) !== 0) whole().fchmodSync(fd, mode)
}

/** Times in seconds. */
export function utimesSync(path: string, atime: number, mtime: number): void {
  const bytes = pathBytes(path)
  const isSet =
    bytes !== undefined && linux()?.utimensat(NO_FOLDER, bytes, timespecs([atime, mtime]), 0) === 0
  if (!isSet) whole().utimesSync(path, atime, mtime)
}

/** Of each time seconds and nanoseconds, two words each. */
function timespecs(times: readonly number[]): Uint32Array {
  const words = times.flatMap((time) => {
    const seconds = Math.floor(time)
    return [seconds % 2 ** 32, Math.floor(seconds / 2 ** 32), Math.floor((time - seconds) * 1e9), 0]
  })
  return new Uint32Array(words)
}

export function renameSync(from: string, to: string): void {
  const [source, target] = [pathBytes(from), pathBytes(to, 1)]
  if (source === undefined || target === undefined || linux()?.rename(source, target) !== 0) {
    whole().renameSync(from, to)
  }
}

/** A single file. */
export function rmSync(path: string, options: { readonly force?: boolean } = {}): void {
  const bytes = pathBytes(path)
  const libc = linux()
  const isGone =
    bytes !== undefined &&
    libc !== undefined &&
    (libc.unlink(bytes) === 0 || (options.force === true && foundNothing(libc)))
  if (!isGone) whole().rmSync(path, options)
}

export function mkdirSync(path: string, options: { readonly recursive: true }): void {
  if (stat(NO_FOLDER, path, 0)?.isDirectory() !== true) whole().mkdirSync(path, options)
}

/** Files of `/proc` do not say how long they are. */
const ROOM_BYTES = 4096

export function readFileSync(path: string): Bytes
export function readFileSync(path: string, encoding: 'utf8'): string
export function readFileSync(path: string, encoding?: 'utf8'): Bytes | string {
  const bytes = readWhole(path) ?? whole().readFileSync(path)
  return encoding === undefined
    ? bytes
    : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
}

function readWhole(path: string): Bytes | undefined {
  const fd = open(path, constants.O_RDONLY, 0)
  if (fd < 0) return undefined
  try {
    const size = stat(fd, '', EMPTY_PATH)?.size ?? 0
    // One byte more than there should be: so the end is seen without asking again.
    let bytes: Bytes = new Uint8Array(Math.max(size + 1, ROOM_BYTES))
    for (let length = 0; ;) {
      const got = read(fd, bytes.subarray(length))
      if (got < 0) return undefined
      length += got
      if (got === 0 || length === size) return bytes.subarray(0, length)
      if (length === bytes.length) bytes = enlarge(bytes)
    }
  } finally {
    closeSync(fd)
  }
}

function enlarge(bytes: Bytes): Bytes {
  const larger = new Uint8Array(bytes.length * 2)
  larger.set(bytes)
  return larger
}

export function existsSync(path: string): boolean {
  const bytes = pathBytes(path)
  const libc = linux()
  return libc === undefined
    ? whole().existsSync(path)
    : bytes !== undefined && libc.access(bytes, 0) === 0
}

const NO_FOLDER = -100
const NO_FOLLOW = 0x100
const EMPTY_PATH = 0x1000

/** Undefined also where nothing is there, null where it is not known why. */
function stat(folder: number, path: string, flags: number): Stat | undefined | null {
  const bytes = pathBytes(path)
  const libc = linux()
  if (bytes === undefined || libc === undefined) return null
  if (libc.statx(folder, bytes, flags, STAT_FIELDS, answer) === 0) return new Stat()
  return foundNothing(libc) ? undefined : null
}

interface Quiet {
  readonly throwIfNoEntry: false
}

export function statSync(path: string): Stat
export function statSync(path: string, options: Quiet): Stat | undefined
export function statSync(path: string, options?: Quiet): Stat | undefined | NodeFs.Stats {
  const found = stat(NO_FOLDER, path, 0)
  if (found === null || (found === undefined && options === undefined)) {
    return options === undefined ? whole().statSync(path) : whole().statSync(path, options)
  }
  return found
}

export function lstatSync(path: string, options: Quiet): Stat | undefined | NodeFs.Stats {
  const found = stat(NO_FOLDER, path, NO_FOLLOW)
  return found === null ? whole().lstatSync(path, options) : found
}

export function fstatSync(fd: number): Stat | NodeFs.Stats {
  return stat(fd, '', EMPTY_PATH) ?? whole().fstatSync(fd)
}

/** The longest path that there is, with its end. */
const PATH_BYTES = 4096

export function realpathSync(path: string): string {
  const bytes = pathBytes(path)
  const real = new Uint8Array(PATH_BYTES)
  const found = bytes === undefined ? null : (linux()?.realpath(bytes, real) ?? null)
  if (found === null) return whole().realpathSync(path)
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(real.subarray(0, real.indexOf(0)))
}

/** Of a larger folder `node:fs` makes the names so much faster that it pays to load it. */
const FOLDER_BYTES = 128 * 1024

export function readdirSync(path: string): string[] {
  const libc = linux()
  const fd = open(path, constants.O_RDONLY, 0)
  if (fd < 0 && hasFoundNothing(path)) throw new NoEntry('scandir', path)
  if (libc === undefined || fd < 0) return whole().readdirSync(path)
  // Most file systems say as its size how much room a folder takes.
  const isLarge = (stat(fd, '', EMPTY_PATH)?.size ?? 0) > FOLDER_BYTES
  const bytes = isLarge ? undefined : readEntries(libc, fd, FOLDER_BYTES)
  closeSync(fd)
  return bytes === undefined ? whole().readdirSync(path) : namesIn(bytes)
}

function namesIn(bytes: Bytes): string[] {
  const starts: number[] = []
  for (let at = 0; at < bytes.length; at = nextEntry(bytes, at)) starts.push(nameOfEntry(at))
  return decodeNames(bytes, starts).filter((name) => name !== '.' && name !== '..')
}

export function readlinkSync(path: string): string {
  return whole().readlinkSync(path)
}
