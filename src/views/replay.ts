import type { EventOf } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import type { Screen, View } from './screen.ts'

/** Which part of a run is shown; absent: all. */
export interface Part {
  readonly step?: number | undefined
  readonly iteration?: number | undefined
}

interface Source {
  /** Finds the bytes that an event of the journal tells of, or what is left of them. */
  readonly read: (event: EventOf<'output'>) => Uint8Array | undefined
  /** Is told how many bytes in a row the record does not hold. */
  readonly onMissing: (bytes: number) => void
  /** Whether people were shown what other events tell instead of these bytes. */
  readonly isTold: (event: EventOf<'output'>) => boolean
}

const NOTHING = new Uint8Array(0)

/** Shows a run again from the events of its journal. */
export class Replay {
  readonly #view: View
  readonly #part: Part
  readonly #source: Source
  #missing = 0

  constructor(view: View, part: Part, source: Source) {
    this.#view = view
    this.#part = part
    this.#source = source
  }

  async show(event: RunEvent): Promise<void> {
    if (!isOfPart(event, this.#part)) return
    if (event.type === 'output') return this.#output(event)
    this.#tellMissing()
    this.#view.show(event)
    // What an agent says may come in thousands, and only output asks to wait for room.
    if (event.type === 'message' || event.type === 'tool') await this.#flush(event)
  }

  end(): void {
    this.#tellMissing()
  }

  async #output(event: EventOf<'output'>): Promise<void> {
    const { scope, step, iteration, attempt, stream } = event
    const isTold = this.#source.isTold(event)
    const bytes = isTold ? NOTHING : this.#find(event)
    if (bytes === undefined) return
    await this.#view.output({ scope, step, iteration, attempt, stream, bytes, isTold })
  }

  /** Of a long output the middle may be missing, so that one event has its beginning or its end. */
  #find(event: EventOf<'output'>): Uint8Array | undefined {
    const bytes = this.#source.read(event)
    const missing = (event.bytes ?? 0) - (bytes?.length ?? 0)
    const isBehindGap = this.#missing > 0
    this.#missing += missing
    if (bytes !== undefined && isBehindGap) this.#tellMissing()
    return bytes
  }

  async #flush(event: EventOf<'message'> | EventOf<'tool'>): Promise<void> {
    const { scope, step, iteration, attempt } = event
    const place = { scope, step, iteration, attempt }
    await this.#view.output({ ...place, stream: 'out', bytes: NOTHING, isTold: true })
  }

  #tellMissing(): void {
    const missing = this.#missing
    this.#missing = 0
    if (missing > 0) this.#source.onMissing(missing)
  }
}

/** The beginning of a run belongs to every part: it says what the steps are. */
function isOfPart(event: RunEvent, { step, iteration }: Part): boolean {
  if (step === undefined && iteration === undefined) return true
  if (event.type === 'run_started') return true
  const isStep = step === undefined || ('step' in event && event.step === step)
  const isIteration =
    iteration === undefined || ('iteration' in event && event.iteration === iteration)
  return isStep && isIteration && event.type !== 'run_resumed'
}

/** Shows nothing but the bytes that the agents printed, whatever was made of them. */
export class RawView implements View {
  readonly #screen: Screen

  constructor(screen: Screen) {
    this.#screen = screen
  }

  show(): void {}

  output({ bytes }: { readonly bytes: Uint8Array }): void | Promise<void> {
    return this.#screen.bytes('out', bytes)
  }
}
