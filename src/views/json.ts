import type { OutputChunk, Stamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import type { Screen, View } from './screen.ts'

/** Tells a run as one JSON object a line, and nothing else. */
export class JsonView implements View {
  readonly #screen: Screen
  readonly #stamp: Stamp
  /** One per stream: a character may be cut in two by the end of a chunk. */
  #decoders = { out: new TextDecoder(), err: new TextDecoder() }

  constructor(screen: Screen, stamp: Stamp) {
    this.#screen = screen
    this.#stamp = stamp
  }

  show(event: RunEvent): void {
    if (event.type === 'iteration_started') {
      this.#decoders = { out: new TextDecoder(), err: new TextDecoder() }
    }
    void this.#write(event)
  }

  output({ scope, step, iteration, stream, bytes }: OutputChunk): void | Promise<void> {
    const text = this.#decoders[stream].decode(bytes, { stream: true })
    if (text === '') return
    return this.#write(
      this.#stamp({ type: 'output', scope: [...scope], step, iteration, stream, text }),
    )
  }

  #write(event: RunEvent): void | Promise<void> {
    return this.#screen.bytes('out', Buffer.from(`${JSON.stringify(event)}\n`))
  }
}
