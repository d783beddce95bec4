import { ptr } from 'bun:ffi'
import { closeSync, readSync } from 'node:fs'
import { openLibc } from '../base/libc.ts'

const SYMBOLS = {
  inotify_init1: { args: ['i32'], returns: 'i32' },
  inotify_add_watch: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
  inotify_rm_watch: { args: ['i32', 'i32'], returns: 'i32' },
} as const

const IN_NONBLOCK = 0o4000
/** No agent inherits it. */
const IN_CLOEXEC = 0o2000000

/** What the kernel tells of a folder and of what is directly in it. */
export const IN = {
  MODIFY: 0x2,
  ATTRIB: 0x4,
  CLOSE_WRITE: 0x8,
  MOVED_FROM: 0x40,
  MOVED_TO: 0x80,
  CREATE: 0x100,
  DELETE: 0x200,
  DELETE_SELF: 0x400,
  MOVE_SELF: 0x800,
  UNMOUNT: 0x2000,
  Q_OVERFLOW: 0x4000,
  IGNORED: 0x8000,
  ONLYDIR: 0x1000000,
  DONT_FOLLOW: 0x2000000,
  ISDIR: 0x40000000,
} as const

export interface FileEvent {
  /** Which of the watches. */
  readonly watch: number
  readonly mask: number
  /** Empty where it is about the folder itself; a sign for each byte. */
  readonly name: string
}

/** Before the name: watch, mask, cookie and length, of four bytes each. */
const HEAD_BYTES = 16

let symbols: ReturnType<typeof openLibc<typeof SYMBOLS>>

/** One queue of the kernel for the events of many folders. */
export class Inotify {
  readonly #fd: number
  readonly #calls: NonNullable<typeof symbols>
  readonly #buffer = Buffer.allocUnsafeSlow(64 * 1024)

  private constructor(fd: number, calls: NonNullable<typeof symbols>) {
    this.#fd = fd
    this.#calls = calls
  }

  /** Undefined on other systems, and where the user has too many of them. */
  static open(): Inotify | undefined {
    if (process.platform !== 'linux') return undefined
    symbols ??= openLibc(SYMBOLS)
    const fd = symbols?.inotify_init1(IN_NONBLOCK | IN_CLOEXEC) ?? -1
    return symbols === undefined || fd < 0 ? undefined : new Inotify(fd, symbols)
  }

  /** The number of the watch; undefined where the kernel refuses. */
  add(folder: Buffer, mask: number): number | undefined {
    const path = Buffer.concat([folder, Buffer.alloc(1)])
    const watch = this.#calls.inotify_add_watch(this.#fd, ptr(path), mask)
    return watch < 0 ? undefined : watch
  }

  remove(watch: number): void {
    this.#calls.inotify_rm_watch(this.#fd, watch)
  }

  /** All that has happened up to now. */
  *read(): Generator<FileEvent> {
    for (let length = this.#fill(); length > 0; length = this.#fill()) {
      for (let at = 0; at < length;) {
        const begin = at + HEAD_BYTES
        const end = begin + this.#buffer.readUInt32LE(at + 12)
        const name = this.#buffer.toString('latin1', begin, end)
        yield {
          watch: this.#buffer.readInt32LE(at),
          mask: this.#buffer.readUInt32LE(at + 4),
          // Filled up with zeros.
          name: name.replace(/\0+$/, ''),
        }
        at = end
      }
    }
  }

  #fill(): number {
    try {
      return readSync(this.#fd, this.#buffer, 0, this.#buffer.length, null)
    } catch {
      // EAGAIN: the queue is empty.
      return 0
    }
  }

  close(): void {
    closeSync(this.#fd)
  }
}
