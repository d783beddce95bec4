import { closeSync, openSync, rmSync } from 'node:fs'
import { writeAll } from '../base/files.ts'
import { HEAD_BYTES, joinTails, TAIL_BYTES, tailPath } from './log-parts.ts'

interface Tail {
  readonly path: string
  readonly fd: number
  length: number
}

/**
 * The raw output of one iteration, both streams, in the order in which it came. Beyond the head only
 * the newest bytes are kept, in two files that take turns; closing joins them behind the head.
 */
export class OutputLog {
  readonly #path: string
  readonly #head: number
  #tail: Tail | undefined
  /** Path of the tail before. */
  #older: string | undefined
  /** Everything that was ever written. */
  size = 0

  constructor(path: string) {
    this.#path = path
    this.#head = openSync(path, 'wx', 0o600)
  }

  /** Where the bytes begin in the output of the iteration. */
  write(bytes: Uint8Array): number {
    const offset = this.size
    const room = Math.max(0, HEAD_BYTES - offset)
    if (room > 0) writeAll(this.#head, bytes.subarray(0, room))
    if (bytes.length > room) this.#writeTail(bytes.subarray(room), offset + room)
    this.size += bytes.length
    return offset
  }

  close(): void {
    this.abandon()
    if (this.#tail !== undefined) joinTails(this.#path)
  }

  /** Lets go of the files without writing anything more. */
  abandon(): void {
    closeSync(this.#head)
    if (this.#tail !== undefined) closeSync(this.#tail.fd)
  }

  #writeTail(bytes: Uint8Array, offset: number): void {
    if (this.#tail === undefined || this.#tail.length >= TAIL_BYTES) {
      const path = tailPath(this.#path, offset)
      const fd = openSync(path, 'wx', 0o600)
      if (this.#older !== undefined) rmSync(this.#older, { force: true })
      if (this.#tail !== undefined) closeSync(this.#tail.fd)
      this.#older = this.#tail?.path
      this.#tail = { path, fd, length: 0 }
    }
    writeAll(this.#tail.fd, bytes)
    this.#tail.length += bytes.length
  }
}
