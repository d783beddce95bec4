import { ptr, read } from 'bun:ffi'
import { openLibc } from '../libc.ts'

const SYMBOLS = {
  open: { args: ['ptr', 'i32', 'i32'], returns: 'i32' },
  close: { args: ['i32'], returns: 'i32' },
  read: { args: ['i32', 'ptr', 'usize'], returns: 'i32' },
  write: { args: ['i32', 'ptr', 'usize'], returns: 'i32' },
  statx: { args: ['i32', 'ptr', 'i32', 'u32', 'ptr'], returns: 'i32' },
  access: { args: ['ptr', 'i32'], returns: 'i32' },
  fsync: { args: ['i32'], returns: 'i32' },
  fchmod: { args: ['i32', 'u32'], returns: 'i32' },
  utimensat: { args: ['i32', 'ptr', 'ptr', 'i32'], returns: 'i32' },
  rename: { args: ['ptr', 'ptr'], returns: 'i32' },
  unlink: { args: ['ptr'], returns: 'i32' },
  getdents64: { args: ['i32', 'ptr', 'usize'], returns: 'i32' },
  realpath: { args: ['ptr', 'ptr'], returns: 'ptr' },
  __errno_location: { args: [], returns: 'ptr' },
} as const

export type Linux = NonNullable<ReturnType<typeof openLibc<typeof SYMBOLS>>>

let opened: Linux | undefined | null = null

/** The functions of Linux itself; undefined on any other system. */
export function linux(): Linux | undefined {
  if (opened === null) opened = process.platform === 'linux' ? openLibc(SYMBOLS) : undefined
  return opened
}

const NO_ENTRY = 2

/** Whether the call that has just failed found nothing at its path. */
export function foundNothing(libc: Linux): boolean {
  // oxlint-disable-next-line no-underscore-dangle
  const place = libc.__errno_location()
  return place !== null && read.i32(place) === NO_ENTRY
}

/** More than the system takes, with room for a sign that is cut. */
const PATH_BYTES = 4096 + 4

const encoder = new TextEncoder()
const places = [new Uint8Array(PATH_BYTES), new Uint8Array(PATH_BYTES)] as const

/**
 * A path as the system takes it; undefined where it would take only a part of it. It holds until the
 * next one is put in the same place: many files are asked for, and one for each would be a burden.
 */
export function pathBytes(path: string, place: 0 | 1 = 0): Uint8Array | undefined {
  const bytes = places[place]
  const { read: taken, written } = encoder.encodeInto(path, bytes)
  if (taken < path.length || written >= PATH_BYTES - 4 || path.includes('\0')) return undefined
  bytes[written] = 0
  return bytes
}

// Where `struct linux_dirent64` has what is asked for, in bytes. It begins with two numbers of 8.
const ENTRY_LENGTH = 16
const ENTRY_NAME = 19
/** The longest entry there is. */
const ENTRY_BYTES = 280

/** Enough for a hundred tasks: a larger piece of memory costs more than to ask once more. */
const ROOM_BYTES = 16 * 1024

/**
 * What an open folder holds, entry by entry as the system writes it; undefined where it is none, or
 * where that is longer than `most`.
 */
export function readEntries(
  libc: Linux,
  fd: number,
  most = Infinity,
): Uint8Array<ArrayBuffer> | undefined {
  let bytes = new Uint8Array(ROOM_BYTES)
  let length = 0
  for (;;) {
    if (bytes.length - length < ENTRY_BYTES) {
      const larger = new Uint8Array(bytes.length * 4)
      larger.set(bytes)
      bytes = larger
    }
    const got = libc.getdents64(fd, ptr(bytes, length), bytes.length - length)
    if (got < 0 || length + got > most) return undefined
    if (got === 0) return bytes.subarray(0, length)
    length += got
  }
}

/** Where the entry behind the one at a place begins. */
export function nextEntry(bytes: Uint8Array, at: number): number {
  return at + (bytes[at + ENTRY_LENGTH]! | (bytes[at + ENTRY_LENGTH + 1]! << 8))
}

/** Where the name of an entry begins; it ends with a zero. */
export function nameOfEntry(at: number): number {
  return at + ENTRY_NAME
}

/** The names that begin at these places. */
export function decodeNames(bytes: Uint8Array, starts: readonly number[]): string[] {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  return starts.map((start) => decoder.decode(bytes.subarray(start, bytes.indexOf(0, start))))
}

// Where `struct statx` has what is asked for, in words of 32 bits.
const MODE = 7
const INODE = 8
const SIZE = 10
const SECONDS = 28
const NANOSECONDS = 30
const DEVICE = 34
const WORDS = 64
const HIGH_WORD = 2 ** 32

const [KIND, FOLDER, FILE, LINK, CHAR_DEVICE] = [0o170000, 0o040000, 0o100000, 0o120000, 0o020000]

/** Asks `statx` for mode, inode, size and time of the last change. */
export const STAT_FIELDS = 0x343

/** What `statx` answers, once for all: with many files, one for each would be most of the memory. */
export const answer = new Uint32Array(new ArrayBuffer(WORDS * 4))

function long(at: number): number {
  return answer[at]! + answer[at + 1]! * HIGH_WORD
}

export function answeredTime(): number {
  return long(SECONDS) * 1000 + answer[NANOSECONDS]! / 1e6
}

export function answeredSize(): number {
  return long(SIZE)
}

export function answeredInode(): number {
  return long(INODE)
}

/** What `statx` has just answered of a file, in the words of `node:fs`. */
export class Stat {
  readonly mode = answer[MODE]! & 0xffff
  readonly ino = answeredInode()
  readonly size = answeredSize()
  readonly mtimeMs = answeredTime()
  /** Tells one file system from another, and nothing else. */
  readonly dev = long(DEVICE)

  get mtime(): Date {
    return new Date(this.mtimeMs)
  }

  isDirectory(): boolean {
    return (this.mode & KIND) === FOLDER
  }

  isFile(): boolean {
    return (this.mode & KIND) === FILE
  }

  isSymbolicLink(): boolean {
    return (this.mode & KIND) === LINK
  }

  isCharacterDevice(): boolean {
    return (this.mode & KIND) === CHAR_DEVICE
  }
}
