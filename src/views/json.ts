import type { OutputChunk, Stamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import type { Screen, View } from './screen.ts'

/** Tells a run as one JSON object a line, and nothing else. */
export class JsonView implements View {
  readonly #screen: Screen
  readonly #stamp: Stamp
  /** One per stream: a character may be cut in two by the end of a chunk. */
  #decoders = makeDecoders()

  constructor(screen: Screen, stamp: Stamp) {
    this.#screen = screen
    this.#stamp = stamp
  }

  show(event: RunEvent): void {
    if (event.type === 'iteration_ended') this.#endOutput(event)
    void this.#write(event)
  }

  output({ scope, step, iteration, stream, bytes }: OutputChunk): void | Promise<void> {
    const text = this.#decoders[stream].decode(bytes, { stream: true })
    if (text === '') return
    return this.#write(
      this.#stamp({ type: 'output', scope: [...scope], step, iteration, stream, text }),
    )
  }

  /** What was half a character at the end of the output will not become a whole one. */
  #endOutput({ scope, step, iteration }: RunEvent & { type: 'iteration_ended' }): void {
    for (const stream of ['out', 'err'] as const) {
      const text = this.#decoders[stream].decode()
      const place = { scope, step, iteration, stream }
      if (text !== '') void this.#write(this.#stamp({ type: 'output', ...place, text }))
    }
    this.#decoders = makeDecoders()
  }

  #write(event: RunEvent): void | Promise<void> {
    return this.#screen.bytes('out', Buffer.from(`${JSON.stringify(event)}\n`))
  }
}

function makeDecoders(): { readonly out: TextDecoder; readonly err: TextDecoder } {
  const make = () => new TextDecoder('utf-8', { ignoreBOM: true })
  return { out: make(), err: make() }
}
