import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/server'

/** How long to wait for answers after stdin has ended and no call is running. */
const LAST_ANSWERS_MS = 3000

/** The requests of a client that are not answered yet. */
export class PendingRequests {
  readonly #ids = new Set<RequestId>()
  readonly #calls = new Set<Promise<unknown>>()
  readonly #ending = new AbortController()
  readonly #none = Promise.withResolvers<void>()
  readonly ending = this.#ending.signal
  readonly #lastAnswersMs: number

  constructor(lastAnswersMs = LAST_ANSWERS_MS) {
    this.#lastAnswersMs = lastAnswersMs
  }

  /** Registers a message from the client. */
  add(message: JSONRPCMessage): void {
    if (!('method' in message)) return
    if ('id' in message) this.#ids.add(message.id)
    // A cancelled request gets no answer.
    else if (message.method === 'notifications/cancelled') {
      this.#drop(message.params?.['requestId'])
    }
  }

  /** Registers a message to the client. */
  take(message: JSONRPCMessage): void {
    if ('result' in message || 'error' in message) this.#drop(message.id)
  }

  /** Registers a running tool call. */
  work(call: Promise<unknown>): void {
    this.#calls.add(call)
    const over = () => this.#calls.delete(call)
    call.then(over, over)
  }

  /** Called after the last message; settles when all requests are answered. */
  async end(): Promise<void> {
    this.#ending.abort()
    do {
      if (this.#ids.size === 0) return
      const over = Promise.allSettled(this.#calls).then(() => Bun.sleep(this.#lastAnswersMs))
      await Promise.race([this.#none.promise, over])
    } while (this.#calls.size > 0)
  }

  #drop(id: unknown): void {
    this.#ids.delete(id as RequestId)
    if (this.#ids.size === 0 && this.ending.aborted) this.#none.resolve()
  }
}
