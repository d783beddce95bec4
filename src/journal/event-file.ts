import {
  closeSync,
  constants,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
  rmSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { lstatOf, writeAll } from '../base/files.ts'
import { reserve } from '../base/reserve.ts'
import type { RunEvent } from '../events/schema.ts'

/** So much may wait to be written. */
const WAITING_LENGTH = 64 * 1024

/** So much more is kept while there is no room on the disk; then only what a run needs to go on. */
const MOST_LENGTH = 16 * 1024 * 1024
/** So much of the disk is set aside, so that a run on a full one can still tell how it ends. */
const RESERVED_BYTES = 64 * 1024

/** Whoever removes a whole record begins with its files, and is not to find new ones. */
const REMOVAL_MS = 500

/** How an event begins that changes no state; there may be very many of them. */
const DISPENSABLE = /^\{"type":"(?:message|tool|output|limit|marker_refused|command|warning)"/

/** The events of a run, a line each. Only ever appended to, so that a crash costs at most a line. */
export class EventFile {
  readonly #path: string
  readonly #onChanged: () => void
  #fd: number
  #waiting = ''
  #waitingSeq = 0
  #reserved = 0
  /** Since when it is not where it was. */
  #missedAt: number | undefined
  /** Length of the file, and the number of the last event in it. */
  length: number
  seq = 0
  /** How many events were taken, those that wait included. */
  count = 0
  /** Whether what waits could not be written when that was tried last. */
  isBehind = false

  /** `onChanged` is called where another program has changed the file, before anything more is written. */
  constructor(path: string, onChanged: () => void) {
    this.#path = path
    this.#onChanged = onChanged
    this.#fd = openToAppend(path)
    this.length = fstatSync(this.#fd).size
    this.#reserve()
  }

  /** Takes an event; it is written together with those that follow, or by `write`. */
  keep(event: RunEvent): void {
    const line = `${JSON.stringify(event)}\n`
    if (this.isBehind && this.#waiting.length > MOST_LENGTH && DISPENSABLE.test(line)) return
    this.#waiting += line
    this.#waitingSeq = event.seq ?? this.#waitingSeq
    this.count += 1
    if (this.#waiting.length > WAITING_LENGTH && !this.isBehind) this.write()
  }

  /** What cannot be written is kept for the next time. */
  write(): void {
    if (this.#waiting === '') return
    this.check()
    const lines = Buffer.from(this.#waiting)
    try {
      writeAll(this.#fd, lines)
    } catch (error) {
      this.isBehind = true
      // Of a line that is written again nothing may be there before.
      ftruncateSync(this.#fd, this.length)
      this.#reserved = 0
      throw error
    }
    this.#waiting = ''
    this.isBehind = false
    this.length += lines.length
    this.seq = this.#waitingSeq
    this.#reserve()
  }

  /** The same where there may be room for less: what changes no state is given up. */
  writeLast(): void {
    try {
      this.write()
    } catch {
      const lines = this.#waiting.split('\n').filter((line) => !DISPENSABLE.test(line))
      this.#waiting = lines.join('\n')
      this.write()
    }
  }

  /** Returns when what was written survives a power failure. */
  sync(): void {
    fdatasyncSync(this.#fd)
  }

  /** Whether the whole record was removed. */
  get isDeleted(): boolean {
    return fstatSync(this.#fd).nlink === 0 && !this.#hasFolder
  }

  /** Where another program has cut, filled, replaced or removed the file, it goes on behind what is there. */
  check(isLast = false): void {
    if (!this.#isChanged(isLast) || this.isDeleted) return
    const fd = openToAppend(this.#path)
    closeSync(this.#fd)
    this.#fd = fd
    this.#reserved = 0
    this.length = fstatSync(fd).size
    // Its last line may have no end.
    if (this.length > 0) {
      writeAll(fd, Buffer.from('\n'))
      this.length += 1
    }
    this.#onChanged()
  }

  #isChanged(isLast: boolean): boolean {
    const { size, ino, dev } = fstatSync(this.#fd)
    if (size !== this.length) return true
    const there = lstatOf(this.#path)
    if (there !== undefined) {
      this.#missedAt = undefined
      return there.ino !== ino || there.dev !== dev
    }
    this.#missedAt ??= performance.now()
    const isLong = isLast || performance.now() - this.#missedAt > REMOVAL_MS
    // A project that was moved takes its records along.
    return isLong && this.#hasFolder
  }

  get #hasFolder(): boolean {
    return lstatOf(dirname(this.#path)) !== undefined
  }

  /** Gives back what was set aside. */
  close(): void {
    try {
      if (this.#reserved > this.length) ftruncateSync(this.#fd, this.length)
    } finally {
      closeSync(this.#fd)
    }
  }

  #reserve(): void {
    if (this.#reserved - this.length >= RESERVED_BYTES / 2) return
    this.#reserved = this.length + RESERVED_BYTES
    reserve(this.#fd, this.length, this.#reserved)
  }
}

const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW

/** What is in its place and is not a file goes: nothing is written through a link. */
function openToAppend(path: string): number {
  if (lstatOf(path)?.isFile() === false) rmSync(path)
  return openSync(path, APPEND, 0o600)
}
