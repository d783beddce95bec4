import type { EventOf, OutputChunk, Stamp } from '../records/events/event.ts'
import type { RunEvent } from '../records/events/schema.ts'
import type { Output, View } from './screen.ts'

/** Shows a run as one JSON object per line. */
export class JsonView implements View {
  readonly #screen: Output
  readonly #stamp: Stamp
  /** One per stream of each agent: a character may be split between chunks. */
  readonly #decoders = new Map<string, Decoders>()
  /** Resolves when the output can take more events. */
  #pending: void | Promise<void> = undefined

  constructor(screen: Output, stamp: Stamp) {
    this.#screen = screen
    this.#stamp = stamp
  }

  show(event: RunEvent): void {
    if (event.type === 'iteration_ended' || event.type === 'task_ended') this.#endOutput(event)
    this.#pending = this.#write(event)
  }

  output({ bytes, isInEvents, ...place }: OutputChunk): void | Promise<void> {
    if (isInEvents === true) return this.#pending
    const decoders = this.#decodersOf(place.scope)
    return this.#emit(place, decoders[place.stream].decode(bytes, { stream: true }))
  }

  /** Emits an incomplete character at the end of the output. */
  #endOutput(event: EventOf<'iteration_ended'> | EventOf<'task_ended'>): void {
    const { scope, step, iteration, attempt } = event
    const of = event.type === 'task_ended' ? { task: event.task } : {}
    const decoders = this.#decodersOf(scope)
    for (const stream of ['out', 'err'] as const) {
      void this.#emit({ scope, step, iteration, attempt, ...of, stream }, decoders[stream].decode())
    }
    this.#decoders.delete(scope.join('/'))
  }

  #emit(place: Omit<OutputChunk, 'bytes'>, text: string): void | Promise<void> {
    if (text === '') return
    return this.#write(this.#stamp({ type: 'output', ...place, scope: [...place.scope], text }))
  }

  #decodersOf(scope: readonly string[]): Decoders {
    const key = scope.join('/')
    const decoders = this.#decoders.get(key) ?? makeDecoders()
    this.#decoders.set(key, decoders)
    return decoders
  }

  #write(event: RunEvent): void | Promise<void> {
    return this.#screen.bytes('out', Buffer.from(`${JSON.stringify(event)}\n`))
  }
}

interface Decoders {
  readonly out: TextDecoder
  readonly err: TextDecoder
}

function makeDecoders(): Decoders {
  const make = () => new TextDecoder('utf-8', { ignoreBOM: true })
  return { out: make(), err: make() }
}
