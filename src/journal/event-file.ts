import { closeSync, fdatasyncSync, fstatSync, openSync } from 'node:fs'
import { writeAll } from '../base/files.ts'
import type { RunEvent } from '../events/schema.ts'

/** So much may wait to be written. */
const WAITING_LENGTH = 64 * 1024

/** The events of a run, a line each. Only ever appended to, so that a crash costs at most a line. */
export class EventFile {
  readonly #fd: number
  #waiting = ''
  #waitingSeq = 0
  /** Length of the file, and the number of the last event in it. */
  length: number
  seq = 0
  /** How many events were taken, those that wait included. */
  count = 0

  constructor(path: string) {
    this.#fd = openSync(path, 'a', 0o600)
    this.length = fstatSync(this.#fd).size
  }

  /** Takes an event; it is written together with those that follow, or by `write`. */
  keep(event: RunEvent): void {
    this.#waiting += `${JSON.stringify(event)}\n`
    this.#waitingSeq = event.seq ?? this.#waitingSeq
    this.count += 1
    if (this.#waiting.length > WAITING_LENGTH) this.write()
  }

  write(): void {
    if (this.#waiting === '') return
    const lines = Buffer.from(this.#waiting)
    this.#waiting = ''
    writeAll(this.#fd, lines)
    this.length += lines.length
    this.seq = this.#waitingSeq
  }

  /** Returns when what was written survives a power failure. */
  sync(): void {
    fdatasyncSync(this.#fd)
  }

  get isDeleted(): boolean {
    return fstatSync(this.#fd).nlink === 0
  }

  close(): void {
    closeSync(this.#fd)
  }
}
