import { Writable } from 'node:stream'
import { callbackify } from 'node:util'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { MessageFilter } from './message-filter.ts'
import { PendingRequests } from './pending-requests.ts'
import { readPipeState } from '../base/linux/unread.ts'

/** Enough for several tasks of maximum size. */
const LONGEST_MESSAGE_BYTES = 64 * 1024 * 1024

/** How long to wait at the end for a client that does not read. */
const PATIENCE_MS = 700

const POLL_MS = 5
const LONGEST_POLL_MS = 100

const STDOUT = 1

/** Standard streams as a transport whose end can be awaited. */
export class Transport extends StdioServerTransport {
  readonly #closed = Promise.withResolvers<void>()
  readonly #output: Writable
  readonly #awaited = new Map<RequestId, (isRead: boolean) => void>()
  readonly #pending: PendingRequests
  #isClosed = false
  readonly closed = this.#closed.promise

  constructor() {
    const output = makeOutput()
    const pending = new PendingRequests()
    const filter = new MessageFilter(LONGEST_MESSAGE_BYTES, {
      refused: (refusal) => void output.write(`${JSON.stringify(refusal)}\n`),
      accepted: (message) => pending.add(message),
      ended: () => pending.end(),
    })
    // The filter already limits the size; serializing again may make a message longer.
    super(process.stdin.pipe(filter), output, { maxBufferSize: Number.MAX_SAFE_INTEGER })
    this.#output = output
    this.#pending = pending
    // Each pending answer adds a listener, and agents make many calls at once.
    output.setMaxListeners(0)
  }

  override async close(): Promise<void> {
    this.#isClosed = true
    await super.close()
    this.#closed.resolve()
  }

  /**
   * Resolves to whether the client has read the answer to a request; false if the request is cancelled.
   * Must be called before the answer is sent.
   */
  isAnswerRead(id: RequestId, cancelled: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#awaited.set(id, resolve)
    const drop = () => {
      if (this.#awaited.get(id) === resolve) this.#awaited.delete(id)
      // `send` handles an answer that is already being sent.
      else return
      resolve(false)
    }
    if (cancelled.aborted) drop()
    cancelled.addEventListener('abort', drop)
    void this.closed.then(drop)
    return promise
  }

  /** Aborts when stdin has ended, so that waiting calls answer at once. */
  get ending(): AbortSignal {
    return this.#pending.ending
  }

  /** Makes the end of the server wait for a call. */
  track<Result>(call: Promise<Result>): Promise<Result> {
    this.#pending.work(call)
    return call
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    const resolve = this.#takeAwaited(message)
    try {
      await super.send(message)
      if (resolve === undefined) return
      await this.#written()
      resolve(await this.#isRead())
    } finally {
      resolve?.(false)
      this.#pending.take(message)
    }
  }

  /** `send` does not wait until a long answer is in the pipe. */
  async flush(): Promise<void> {
    if (this.#output.destroyed) return
    const flushed = new Promise<void>((resolve) => this.#output.once('close', resolve).end())
    await Promise.race([flushed, Bun.sleep(PATIENCE_MS)])
  }

  #takeAwaited(message: JSONRPCMessage): ((isRead: boolean) => void) | undefined {
    const isAnswer = 'result' in message || 'error' in message
    if (!isAnswer || message.id === undefined) return undefined
    const resolve = this.#awaited.get(message.id)
    this.#awaited.delete(message.id)
    return resolve
  }

  /** Settles when everything sent so far is in the pipe. */
  #written(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#output.write('', (error) => (error ? reject(error) : resolve()))
    return promise
  }

  async #isRead(): Promise<boolean> {
    for (let pause = POLL_MS; ; pause = Math.min(2 * pause, LONGEST_POLL_MS)) {
      const state = readPipeState(STDOUT)
      if (state !== 'unread' || this.#isClosed) return state === 'read'
      await Promise.race([Bun.sleep(pause), this.closed])
    }
  }
}

/** Unlike `process.stdout`, reports when the bytes are in the pipe. */
function makeOutput(): Writable {
  const sink = Bun.stdout.writer()
  const write = callbackify(async (chunk: Buffer) => {
    await sink.write(chunk)
    await sink.flush()
  })
  return new Writable({
    write(chunk: Buffer, _, done) {
      write(chunk, done)
    },
  })
}
