import { constants, openSync, writeSync } from 'node:fs'
import { errorCode } from '../../base/errors.ts'

/** A terminal that takes output is tried again at once, one that takes nothing less and less often. */
const [SHORTEST_RETRY_MS, LONGEST_RETRY_MS] = [1, 32]
/** How long callers wait for a terminal before it counts as stalled. */
const PATIENCE_MS = 1000
/** For a stalled terminal, no more than this should wait. */
const MOST_WAITING = 1024 * 1024

/** Writes to a terminal without blocking the process, even if nobody reads it: Ctrl-S, a stalled connection. */
export class TerminalWriter {
  readonly #fd: number
  readonly #onClosed: (error: unknown) => void
  readonly #isPatient: boolean
  #waiting: Uint8Array[] = []
  #bytes = 0
  #isStalled = false
  #isBroken = false
  #retry: Timer | undefined
  #retryMs = SHORTEST_RETRY_MS
  /** While output waits: resolved when all is written, or the terminal counts as stalled. */
  #taken: PromiseWithResolvers<void> | undefined
  #patience: Timer | undefined

  /** `onClosed`: the terminal is gone. With `isPatient`, callers wait for it as long as it takes. */
  constructor(fd: 1 | 2, onClosed: (error: unknown) => void, isPatient: boolean) {
    this.#fd = openTerminal(fd)
    this.#onClosed = onClosed
    this.#isPatient = isPatient
  }

  /** Whether output waits for the terminal. */
  get isBehind(): boolean {
    return this.#waiting.length > 0
  }

  /** Whether the terminal is stalled, and so much waits that the rest should be dropped. */
  get isFull(): boolean {
    return this.#isStalled && this.#bytes > MOST_WAITING
  }

  /** A promise asks the caller to wait before writing more. */
  write(bytes: Uint8Array): void | Promise<void> {
    if (this.#isBroken || bytes.length === 0) return
    this.#waiting.push(bytes)
    this.#bytes += bytes.length
    if (this.#retry === undefined) this.#flush()
    if (this.isBehind && !this.#isStalled) return this.#wait()
  }

  /** Resolves when everything is written or given up. */
  async drain(): Promise<void> {
    while (this.isBehind) await Bun.sleep(LONGEST_RETRY_MS)
  }

  #wait(): Promise<void> {
    this.#taken ??= Promise.withResolvers()
    if (!this.#isPatient)
      this.#patience ??= setTimeout(() => {
        this.#isStalled = true
        this.#endWait()
      }, PATIENCE_MS)
    return this.#taken.promise
  }

  #endWait(): void {
    clearTimeout(this.#patience)
    this.#patience = undefined
    this.#taken?.resolve()
    this.#taken = undefined
  }

  #flush(): void {
    this.#retry = undefined
    try {
      for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
        const written = writeSync(this.#fd, next)
        this.#bytes -= written
        this.#retryMs = SHORTEST_RETRY_MS
        if (written === next.length) this.#waiting.shift()
        else this.#waiting[0] = next.subarray(written)
      }
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN') return this.#break(error)
      this.#retry = setTimeout(() => this.#flush(), this.#retryMs)
      this.#retryMs = Math.min(2 * this.#retryMs, LONGEST_RETRY_MS)
      return
    }
    this.#isStalled = false
    this.#endWait()
  }

  #break(error: unknown): void {
    this.#isBroken = true
    this.#waiting = []
    this.#bytes = 0
    this.#endWait()
    this.#onClosed(error)
  }
}

/**
 * Non-blocking mode belongs to the open file, which other processes share. So the terminal is opened again; if that is
 * not possible, as after `su`, writing may block.
 */
function openTerminal(fd: 1 | 2): number {
  const path = process.platform === 'linux' ? `/proc/self/fd/${fd}` : '/dev/tty'
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY)
  } catch {
    return fd
  }
}
