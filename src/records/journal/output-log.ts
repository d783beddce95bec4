import { closeSync, openSync } from 'node:fs'
import { writeAll } from '../../base/files.ts'
import { removeFileIn, withFileIn } from '../../base/places.ts'
import { HEAD_BYTES, joinTails, TAIL_BYTES, tailPath } from './log-parts.ts'

interface Tail {
  readonly name: string
  readonly fd: number
  length: number
}

/**
 * The raw output of one iteration, both streams in order. After the head only the newest bytes are
 * kept, in two alternating files; closing appends them to the head.
 */
export class OutputLog {
  readonly #folder: string
  readonly #name: string
  readonly #head: number
  #tail: Tail | undefined
  /** Name of the previous tail. */
  #older: string | undefined
  /** Total bytes written, including dropped ones. */
  size = 0

  /** `name` is its path inside the record. */
  constructor(folder: string, name: string) {
    this.#folder = folder
    this.#name = name
    this.#head = this.#make(name)
  }

  #make(name: string): number {
    return withFileIn(this.#folder, name, (path) => openSync(path, 'wx', 0o600))
  }

  /** Returns the offset of the bytes in the output of the iteration. */
  write(bytes: Uint8Array): number {
    const offset = this.size
    const headRest = Math.max(0, HEAD_BYTES - offset)
    if (headRest > 0) writeAll(this.#head, bytes.subarray(0, headRest))
    if (bytes.length > headRest) this.#writeTail(bytes.subarray(headRest), offset + headRest)
    this.size += bytes.length
    return offset
  }

  close(): void {
    this.abandon()
    if (this.#tail !== undefined) withFileIn(this.#folder, this.#name, joinTails)
  }

  /** Closes the files without writing anything more. */
  abandon(): void {
    closeSync(this.#head)
    if (this.#tail !== undefined) closeSync(this.#tail.fd)
  }

  #writeTail(bytes: Uint8Array, offset: number): void {
    if (this.#tail === undefined || this.#tail.length >= TAIL_BYTES) {
      const name = tailPath(this.#name, offset)
      const fd = this.#make(name)
      if (this.#older !== undefined) removeFileIn(this.#folder, this.#older)
      if (this.#tail !== undefined) closeSync(this.#tail.fd)
      this.#older = this.#tail?.name
      this.#tail = { name, fd, length: 0 }
    }
    writeAll(this.#tail.fd, bytes)
    this.#tail.length += bytes.length
  }
}
