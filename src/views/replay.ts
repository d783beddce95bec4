import type { EventOf, OutputChunk } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import type { Screen, View } from './screen.ts'

/** Which part of a run is shown; absent: all. */
export interface Part {
  readonly step?: number | undefined
  readonly iteration?: number | undefined
  /** One sub-agent, of all its attempts or of one. */
  readonly task?: string | undefined
  readonly attempt?: number | undefined
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
    const { scope, step, iteration, attempt, task, stream } = event
    const isTold = this.#source.isTold(event)
    const bytes = isTold ? NOTHING : this.#find(event)
    if (bytes === undefined) return
    const of = task === undefined ? {} : { task }
    await this.#view.output({ scope, step, iteration, attempt, ...of, stream, bytes, isTold })
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

/** Whether it is less than the whole run. */
export function isPart({ step, iteration, task }: Part): boolean {
  return step !== undefined || iteration !== undefined || task !== undefined
}

/** The beginning of a run belongs to every part: it says what the steps are. */
function isOfPart(event: RunEvent, part: Part): boolean {
  const { step, iteration, task, attempt } = part
  if (!isPart(part)) return true
  if (event.type === 'run_started') return true
  if (task !== undefined) {
    const isOwn = 'task' in event && event.task === task
    return isOwn && (attempt === undefined || event.attempt === attempt)
  }
  const isStep = step === undefined || ('step' in event && event.step === step)
  const isIteration =
    iteration === undefined || ('iteration' in event && event.iteration === iteration)
  return isStep && isIteration && event.type !== 'run_resumed'
}

/** Shows nothing but the bytes that the agents of the steps, or one task, printed. */
export class RawView implements View {
  readonly #screen: Screen
  readonly #task: string | undefined

  constructor(screen: Screen, task?: string) {
    this.#screen = screen
    this.#task = task
  }

  show(): void {}

  output({ bytes, task }: OutputChunk): void | Promise<void> {
    // Several speak at once: in one stream nobody could tell them apart.
    if (task !== this.#task) return
    return this.#screen.bytes('out', bytes)
  }
}
