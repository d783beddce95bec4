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
import { lstatOf, statOf, writeAll } from '../../base/files.ts'
import { pathOfOpened } from '../../base/places.ts'
import { reserve } from '../../base/linux/preallocate.ts'
import type { RunEvent } from '../events/schema.ts'

/** While the disk is full, up to this much is kept in memory; beyond it, only events that a resume needs. */
const MOST_LENGTH = 16 * 1024 * 1024
/** Reserved disk space, so that a run can record its end on a full disk. */
const RESERVED_BYTES = 64 * 1024

/** A missing file is not created again before this time: the whole record may be about to be removed. */
const REMOVAL_MS = 500

/** Events that do not change the state; there may be very many. */
const DISPENSABLE = /^\{"type":"(?:message|tool|output|limit|marker_refused|command|warning)"/

/** The events of a run, one per line. Only appended to, so that a crash costs at most one line. */
export class EventFile {
  readonly #path: string
  readonly #onChanged: () => void
  #fd: number
  #waiting = ''
  #waitingSeq = 0
  #reserved = 0
  /** When the file was first found missing. */
  #missedAt: number | undefined
  /** Length of the file, and the number of the last event in it. */
  length: number
  seq = 0
  /** Whether the last write failed. */
  isBehind = false

  /** `onChanged` is called if another program has changed the file, before the next write. */
  constructor(path: string, onChanged: () => void) {
    this.#path = path
    this.#onChanged = onChanged
    this.#fd = openToAppend(path)
    this.length = fstatSync(this.#fd).size
    this.#reserve()
  }

  /** Writes an event, or keeps it for the next `write` if the last write failed. */
  append(event: RunEvent): void {
    const line = `${JSON.stringify(event)}\n`
    if (this.isBehind && this.#waiting.length > MOST_LENGTH && DISPENSABLE.test(line)) return
    this.#waiting += line
    this.#waitingSeq = event.seq ?? this.#waitingSeq
    if (!this.isBehind) this.write()
  }

  /** Writes the events that are waiting; if that fails, keeps them for the next call and throws. */
  write(): void {
    if (this.#waiting === '') return
    this.check()
    const lines = Buffer.from(this.#waiting)
    try {
      writeAll(this.#fd, lines)
    } catch (error) {
      this.isBehind = true
      // Remove partly written lines, because they are written again.
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

  /** Like `write`, but drops events that change no state if the disk is full. */
  writeLast(): void {
    try {
      this.write()
    } catch {
      const lines = this.#waiting.split('\n').filter((line) => !DISPENSABLE.test(line))
      this.#waiting = lines.join('\n')
      this.write()
    }
  }

  /** Returns once everything written survives a power failure. */
  sync(): void {
    fdatasyncSync(this.#fd)
  }

  /** The folder that contains the file now, even after a move (Linux). */
  get place(): string | undefined {
    if (fstatSync(this.#fd).nlink === 0) return undefined
    return dirname(pathOfOpened(this.#fd, this.#path))
  }

  /** Whether the whole record was removed. */
  get isDeleted(): boolean {
    return fstatSync(this.#fd).nlink === 0 && !this.#hasFolder
  }

  /** If another program has changed, replaced or removed the file, continues after its current content. */
  check(isLast = false): void {
    if (!this.#isChanged(isLast) || this.isDeleted) return
    const fd = openToAppend(this.#path)
    closeSync(this.#fd)
    this.#fd = fd
    this.#reserved = 0
    this.length = fstatSync(fd).size
    // Its last line may be incomplete.
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
    // If the folder is also gone, the project was moved together with its records.
    return isLong && this.#hasFolder
  }

  get #hasFolder(): boolean {
    return (statOf(dirname(this.#path))?.nlink ?? 0) > 0
  }

  /** Also releases the reserved disk space. */
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

/** Replaces a link or folder at the path: nothing is written through a link. */
function openToAppend(path: string): number {
  if (lstatOf(path)?.isFile() === false) rmSync(path)
  return openSync(path, APPEND, 0o600)
}
