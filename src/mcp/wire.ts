import { Writable } from 'node:stream'
import { callbackify } from 'node:util'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'

/** Several tasks of the greatest size in one message. */
const LONGEST_MESSAGE_BYTES = 64 * 1024 * 1024

/** How long a client that does not read may keep us. */
const PATIENCE_MS = 700

/** Our standard streams, with an end that can be waited for. */
export class Wire extends StdioServerTransport {
  readonly #closed = Promise.withResolvers<void>()
  readonly #output: Writable
  readonly closed = this.#closed.promise

  constructor() {
    const output = makeOutput()
    super(process.stdin, output, { maxBufferSize: LONGEST_MESSAGE_BYTES })
    this.#output = output
    // Each answer that waits for the pipe listens, and agents make many calls at once.
    output.setMaxListeners(0)
  }

  override async close(): Promise<void> {
    await super.close()
    this.#closed.resolve()
  }

  /** A long answer is not in the pipe yet when it has been sent. */
  async flush(): Promise<void> {
    if (this.#output.destroyed) return
    const flushed = new Promise<void>((resolve) => this.#output.once('close', resolve).end())
    await Promise.race([flushed, Bun.sleep(PATIENCE_MS)])
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
