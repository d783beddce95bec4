import type { EventOf, OutputChunk, Stamp } from '../records/events/event.ts'
import type { RunEvent } from '../records/events/schema.ts'
import type { Output, View } from './view.ts'

/** Shows a run as one JSON object per line. */
export class JsonView implements View {
  readonly #screen: Output
  readonly #stamp: Stamp
  /** One per stream of each agent, because a character may be split between chunks. */
  readonly #decoders = new Map<string, TextDecoder>()
  /** Resolves when stdout can take more events. */
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
    const key = keyOf(place)
    const decoder = this.#decoders.get(key) ?? new TextDecoder('utf-8', { ignoreBOM: true })
    this.#decoders.set(key, decoder)
    return this.#emit(place, decoder.decode(bytes, { stream: true }))
  }

  /** Emits an incomplete character at the end of the output. */
  #endOutput(event: EventOf<'iteration_ended'> | EventOf<'task_ended'>): void {
    const { scope, step, iteration, attempt } = event
    const of = event.type === 'task_ended' ? { task: event.task } : {}
    for (const stream of ['out', 'err'] as const) {
      const place = { scope, step, iteration, attempt, ...of, stream }
      void this.#emit(place, this.#decoders.get(keyOf(place))?.decode() ?? '')
      this.#decoders.delete(keyOf(place))
    }
  }

  #emit(place: Omit<OutputChunk, 'bytes'>, text: string): void | Promise<void> {
    if (text === '') return
    return this.#write(this.#stamp({ type: 'output', ...place, scope: [...place.scope], text }))
  }

  #write(event: RunEvent): void | Promise<void> {
    return this.#screen.bytes('out', Buffer.from(`${JSON.stringify(event)}\n`))
  }
}

function keyOf({ scope, stream }: Pick<OutputChunk, 'scope' | 'stream'>): string {
  return [...scope, stream].join('/')
}
