import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { writeAll } from '../base/files.ts'

/** How much of the beginning and of the end of an iteration's output is kept. */
const HEAD_BYTES = 4 * 1024 * 1024
const TAIL_BYTES = 4 * 1024 * 1024

/**
 * The raw output of one iteration, both streams, in the order in which it came. Beyond the head only
 * the newest bytes are kept, in two files that take turns; closing joins them behind the head.
 */
export class OutputLog {
  readonly #path: string
  readonly #head: number
  #tail: number | undefined
  #tailLength = 0
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
    if (bytes.length > room) this.#writeTail(bytes.subarray(room))
    this.size += bytes.length
    return offset
  }

  close(): void {
    try {
      if (this.#tail !== undefined) this.#joinTail()
    } finally {
      closeSync(this.#head)
    }
  }

  /** Lets go of the files without writing anything more. */
  abandon(): void {
    closeSync(this.#head)
    if (this.#tail !== undefined) closeSync(this.#tail)
  }

  #writeTail(bytes: Uint8Array): void {
    if (this.#tail !== undefined && this.#tailLength >= TAIL_BYTES) {
      closeSync(this.#tail)
      this.#tail = undefined
      renameSync(this.#newer, this.#older)
    }
    if (this.#tail === undefined) {
      this.#tail = openSync(this.#newer, 'w', 0o600)
      this.#tailLength = 0
    }
    writeAll(this.#tail, bytes)
    this.#tailLength += bytes.length
  }

  #joinTail(): void {
    closeSync(this.#tail!)
    this.#tail = undefined
    const parts = [this.#older, this.#newer].filter(existsSync).map((path) => readFileSync(path))
    const kept = Buffer.concat(parts).subarray(-TAIL_BYTES)
    const left = this.size - HEAD_BYTES - kept.length
    if (left > 0) writeAll(this.#head, Buffer.from(`\n[forkhestra] ${left} bytes left out here\n`))
    writeAll(this.#head, kept)
    for (const path of [this.#older, this.#newer]) rmSync(path, { force: true })
  }

  get #newer(): string {
    return `${this.#path}.tail`
  }
  get #older(): string {
    return `${this.#path}.tail-before`
  }
}
