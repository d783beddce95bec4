import { Writable } from 'node:stream'
import { callbackify } from 'node:util'
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { Sieve } from './sieve.ts'
import { readState } from './unread.ts'

/** Several tasks of the greatest size in one message. */
const LONGEST_MESSAGE_BYTES = 64 * 1024 * 1024

/** How long a client that does not read may keep us. */
const PATIENCE_MS = 700

/** How long requests that are under way when stdin ends may take to be answered. */
const LAST_ANSWERS_MS = 5000

const LOOK_MS = 5
const LONGEST_LOOK_MS = 100

const STDOUT = 1

/** Requests that have no answer yet. */
class Unanswered {
  readonly #ids = new Set<RequestId>()
  readonly #ending = new AbortController()
  readonly #none = Promise.withResolvers<void>()
  readonly ending = this.#ending.signal

  /** A message of the client. */
  add(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message) this.#ids.add(message.id)
    // It is not answered any more.
    else if (message.method === 'notifications/cancelled') {
      this.#drop(message.params?.['requestId'])
    }
  }

  /** A message to the client. */
  take(message: JSONRPCMessage): void {
    if ('result' in message || 'error' in message) this.#drop(message.id)
  }

  /** Nothing more comes: settles when all are answered, or after a while. */
  async end(): Promise<void> {
    this.#ending.abort()
    if (this.#ids.size === 0) return
    await Promise.race([this.#none.promise, Bun.sleep(LAST_ANSWERS_MS)])
  }

  #drop(id: unknown): void {
    this.#ids.delete(id as RequestId)
    if (this.#ids.size === 0 && this.ending.aborted) this.#none.resolve()
  }
}

/** Our standard streams, with an end that can be waited for. */
export class Wire extends StdioServerTransport {
  readonly #closed = Promise.withResolvers<void>()
  readonly #output: Writable
  readonly #awaited = new Map<RequestId, (isThere: boolean) => void>()
  readonly #unanswered: Unanswered
  #isClosed = false
  readonly closed = this.#closed.promise

  constructor() {
    const output = makeOutput()
    const unanswered = new Unanswered()
    const sieve = new Sieve(LONGEST_MESSAGE_BYTES, {
      refused: (refusal) => void output.write(`${JSON.stringify(refusal)}\n`),
      handedOn: (message) => unanswered.add(message),
      ended: () => unanswered.end(),
    })
    // What is too long was refused; numbers may have become longer by then.
    super(process.stdin.pipe(sieve), output, { maxBufferSize: Number.MAX_SAFE_INTEGER })
    this.#output = output
    this.#unanswered = unanswered
    // Each answer that waits for the pipe listens, and agents make many calls at once.
    output.setMaxListeners(0)
  }

  override async close(): Promise<void> {
    this.#isClosed = true
    await super.close()
    this.#closed.resolve()
  }

  /**
   * Settles once it is known whether the client has taken the answer to a request. To be called before
   * the answer is sent; for a request that is cancelled there is none.
   */
  isTaken(id: RequestId, cancelled: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#awaited.set(id, resolve)
    const drop = () => {
      if (this.#awaited.get(id) === resolve) this.#awaited.delete(id)
      // One that is on its way is looked after in `send`.
      else return
      resolve(false)
    }
    if (cancelled.aborted) drop()
    cancelled.addEventListener('abort', drop)
    void this.closed.then(drop)
    return promise
  }

  /** Aborts when stdin has ended: whoever waits answers with what there is. */
  get ending(): AbortSignal {
    return this.#unanswered.ending
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    const tell = this.#takeAwaited(message)
    try {
      await super.send(message)
      if (tell === undefined) return
      await this.#written()
      tell(await this.#isRead())
    } finally {
      tell?.(false)
      this.#unanswered.take(message)
    }
  }

  /** A long answer is not in the pipe yet when it has been sent. */
  async flush(): Promise<void> {
    if (this.#output.destroyed) return
    const flushed = new Promise<void>((resolve) => this.#output.once('close', resolve).end())
    await Promise.race([flushed, Bun.sleep(PATIENCE_MS)])
  }

  #takeAwaited(message: JSONRPCMessage): ((isThere: boolean) => void) | undefined {
    const isAnswer = 'result' in message || 'error' in message
    if (!isAnswer || message.id === undefined) return undefined
    const tell = this.#awaited.get(message.id)
    this.#awaited.delete(message.id)
    return tell
  }

  /** Settles when all that was sent so far is in the pipe. */
  #written(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#output.write('', (error) => (error ? reject(error) : resolve()))
    return promise
  }

  async #isRead(): Promise<boolean> {
    for (let pause = LOOK_MS; ; pause = Math.min(2 * pause, LONGEST_LOOK_MS)) {
      const state = readState(STDOUT)
      if (state !== 'unread' || this.#isClosed) return state === 'read'
      await Promise.race([Bun.sleep(pause), this.closed])
    }
  }
}

/** Unlike `process.stdout`, it knows when the bytes are in the pipe. */
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
