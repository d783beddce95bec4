import { branchName } from '../records/events/branch-name.ts'
import type { EventOf, OutputChunk } from '../records/events/event.ts'
import { next } from '../records/events/fold.ts'
import type { RunEvent } from '../records/events/schema.ts'
import { NO_EVENTS } from '../records/events/state.ts'
import { keyOfScope } from '../records/events/tree.ts'
import { BranchOutput } from './plain/branch-output.ts'
import type { Output, View } from './view.ts'

/** The part of a run to show; everything by default. */
export interface RunPart {
  readonly step?: number | undefined
  /** Which copy of the step; with those of the groups around it, such as `1.2`. */
  readonly copy?: string | undefined
  readonly iteration?: number | undefined
  /** One sub-agent, with all its attempts or one of them. */
  readonly task?: string | undefined
  readonly attempt?: number | undefined
}

interface Source {
  /** The bytes that an output event refers to, as far as they are left. */
  readonly read: (event: EventOf<'output'>) => Uint8Array | undefined
  /** Called with the number of consecutive bytes that the record does not contain. */
  readonly onMissing: (bytes: number) => void
  /** Whether other events with the same content were shown instead of these bytes. */
  readonly isInEvents: (event: EventOf<'output'>) => boolean
}

const NOTHING = new Uint8Array(0)

/** Shows a run again from the events of its journal. */
export class Replay {
  readonly #view: View
  readonly #part: RunPart
  readonly #source: Source
  #missing = 0

  constructor(view: View, part: RunPart, source: Source) {
    this.#view = view
    this.#part = part
    this.#source = source
  }

  async show(event: RunEvent): Promise<void> {
    if (!isOfPart(event, this.#part)) return
    if (event.type === 'output') return this.#output(event)
    this.#reportMissing()
    this.#view.show(event)
    // There may be thousands of these, and only `output` waits until the view can take more.
    if (event.type === 'message' || event.type === 'tool') await this.#flush(event)
  }

  end(): void {
    this.#reportMissing()
    this.#view.end?.()
  }

  async #output(event: EventOf<'output'>): Promise<void> {
    const { scope, step, iteration, attempt, task, stream } = event
    const isInEvents = this.#source.isInEvents(event)
    const bytes = isInEvents ? NOTHING : this.#find(event)
    if (bytes === undefined) return
    const of = task === undefined ? {} : { task }
    await this.#view.output({ scope, step, iteration, attempt, ...of, stream, bytes, isInEvents })
  }

  /** The middle of a long output may be missing, so an event may have only its beginning or its end. */
  #find(event: EventOf<'output'>): Uint8Array | undefined {
    const bytes = this.#source.read(event)
    const missing = (event.bytes ?? 0) - (bytes?.length ?? 0)
    const isAfterGap = this.#missing > 0
    this.#missing += missing
    if (bytes !== undefined && isAfterGap) this.#reportMissing()
    return bytes
  }

  async #flush(event: EventOf<'message'> | EventOf<'tool'>): Promise<void> {
    const { scope, step, iteration, attempt } = event
    const place = { scope, step, iteration, attempt }
    await this.#view.output({ ...place, stream: 'out', bytes: NOTHING, isInEvents: true })
  }

  #reportMissing(): void {
    const missing = this.#missing
    this.#missing = 0
    if (missing > 0) this.#source.onMissing(missing)
  }
}

export function isPart({ step, iteration, task }: RunPart): boolean {
  return step !== undefined || iteration !== undefined || task !== undefined
}

/** The start of a run belongs to every part, because it lists the steps. */
export function isOfPart(event: RunEvent, part: RunPart): boolean {
  const { step, copy, iteration, task, attempt } = part
  if (!isPart(part)) return true
  if (event.type === 'run_started') return true
  if (task !== undefined) {
    const isOwn = 'task' in event && event.task === task
    return isOwn && (attempt === undefined || event.attempt === attempt)
  }
  const isStep = step === undefined || isOfStep(event, step)
  const isCopy = copy === undefined || copiesOf(event) === copy
  const isIteration =
    iteration === undefined || ('iteration' in event && event.iteration === iteration)
  return isStep && isCopy && isIteration && event.type !== 'run_resumed'
}

function isOfStep(event: RunEvent, step: number): boolean {
  if ('step' in event) return event.step === step
  // The worktree and the merges of the step itself.
  return 'scope' in event && event.scope.includes(`s${step}`)
}

function copiesOf(event: RunEvent): string {
  const scope = 'scope' in event ? event.scope : []
  return scope.flatMap((part) => /^c(\d+)$/.exec(part)?.[1] ?? []).join('.')
}

/** Shows only the raw output of the steps' agents, or of one task. */
export class RawView implements View {
  readonly #screen: Output
  readonly #task: string | undefined
  #state = NO_EVENTS
  /** Whole lines of each branch, so that they can be read. */
  readonly #branches = new Map<string, BranchOutput>()

  constructor(screen: Output, task?: string) {
    this.#screen = screen
    this.#task = task
  }

  show(event: RunEvent): void {
    if (event.type === 'run_started') this.#state = next(this.#state, event)
    if (event.type === 'iteration_ended') this.#branches.get(keyOfScope(event.scope))?.finishLines()
  }

  output({ scope, bytes, task }: OutputChunk): void | Promise<void> {
    // Tasks run in parallel, so their output would be indistinguishable.
    if (task !== this.#task) return
    const output = task === undefined ? this.#outputOf(scope) : this.#screen
    return output.bytes('out', bytes)
  }

  end(): void {
    for (const output of this.#branches.values()) output.finishLines()
  }

  #outputOf(scope: readonly string[]): Output {
    if (branchName(this.#state, scope) === undefined) return this.#screen
    const key = keyOfScope(scope)
    const known = this.#branches.get(key) ?? new BranchOutput(this.#screen, '')
    this.#branches.set(key, known)
    return known
  }
}
