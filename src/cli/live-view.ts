import { basename } from 'node:path'
import { errorText } from '../base/errors.ts'
import type { ProjectRecords } from '../host/records/place.ts'
import type { OutputChunk } from '../records/events/event.ts'
import type { RunEvent } from '../records/events/schema.ts'
import type { RunState } from '../records/events/state.ts'
import type { LiveSession } from '../views/live/session.ts'
import type { LineStyle, Output, View } from '../views/view.ts'
import { openLiveScreen } from './records/live-screen.ts'

type RenderFrame = Parameters<NonNullable<Output['live']>>[0]

/** Plain lines, which are shown only while no live screen is on the terminal. */
class Gate implements Output {
  readonly #output: Output
  #state: 'open' | 'closed' | 'held' = 'open'
  #held: (() => void)[] = []
  #frame: RenderFrame | undefined

  constructor(output: Output) {
    this.#output = output
  }

  close(): void {
    this.#state = 'closed'
  }

  /** What is written from now on is shown after `open`. */
  hold(): void {
    if (this.#state === 'closed') this.#state = 'held'
  }

  open(): void {
    this.#state = 'open'
    if (this.#frame !== undefined) this.#output.live?.(this.#frame)
    this.#frame = undefined
    for (const write of this.#held.splice(0)) write()
  }

  bytes(stream: 'out' | 'err', bytes: Uint8Array, prefix?: string): void | Promise<void> {
    if (this.#state === 'open') return this.#output.bytes(stream, bytes, prefix)
  }

  line(text: string, style?: LineStyle): void {
    this.#write(() => this.#output.line(text, style))
  }

  warn(text: string, prefix?: string): void {
    this.#write(() => this.#output.warn(text, prefix))
  }

  live(frame: RenderFrame): void {
    this.#frame = frame
  }

  refresh(): void {
    if (this.#state === 'open') this.#output.refresh?.()
  }

  #write(write: () => void): void {
    if (this.#state === 'open') write()
    else if (this.#state === 'held') this.#held.push(write)
  }
}

/** A run of this process on the whole terminal; plain lines follow when the user leaves it. */
export class LiveView implements View {
  readonly #gate: Gate
  readonly #plain: View
  readonly #places: ProjectRecords
  #session: LiveSession | undefined
  #left: Promise<void> = Promise.resolve()
  #hasBegun = false
  #hasEnded = false

  constructor(output: Output, places: ProjectRecords, makePlain: (output: Output) => View) {
    this.#gate = new Gate(output)
    this.#plain = makePlain(this.#gate)
    this.#places = places
  }

  /** Says something that is not part of the run; false if the live screen is not shown. */
  say(text: string): boolean {
    this.#session?.say(text)
    return this.#session !== undefined
  }

  show(event: RunEvent, state: RunState): void {
    if (event.type === 'run_ended') {
      this.#hasEnded = true
      this.#gate.hold()
      this.#session?.stop('quit')
    }
    this.#plain.show(event, state)
    if (!this.#hasBegun && event.type !== 'warning') this.#begin(state)
  }

  tick(): void {
    this.#plain.tick?.()
  }

  output(chunk: OutputChunk): void | Promise<void> {
    return this.#plain.output(chunk)
  }

  end(): void {
    this.#plain.end?.()
  }

  /** Resolves when the terminal shows plain lines again. */
  async close(): Promise<void> {
    this.#session?.stop('quit')
    await this.#left
  }

  #begin({ record }: RunState): void {
    this.#hasBegun = true
    if (record === undefined) {
      this.#gate.open()
      return this.#gate.warn('[forkhestra] --live needs the record of the run: showing plain lines')
    }
    this.#gate.close()
    this.#left = this.#show(record)
  }

  async #show(record: string): Promise<void> {
    const id = basename(record)
    const interrupt = () => void process.kill(process.pid, 'SIGINT')
    let words = `[forkhestra] The run continues. To watch it again: forkhestra watch ${id}`
    try {
      this.#session = openLiveScreen(id, record, this.#places, interrupt)
      await this.#session.run()
    } catch (error) {
      // A view must not stop the run.
      words = `[forkhestra] Warning: the live screen has failed: ${errorText(error)}`
    }
    this.#session = undefined
    this.#gate.hold()
    if (!this.#hasEnded) this.#gate.warn(words)
    this.#gate.open()
  }
}
