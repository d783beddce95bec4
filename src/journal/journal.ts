import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { OutputChunk, Stamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import { OutputLog } from './output-log.ts'

/** A run of bytes of one stream is one event up to this length. */
const SPAN_BYTES = 1024 * 1024

interface Span {
  readonly step: number
  readonly iteration: number
  readonly scope: string[]
  readonly stream: 'out' | 'err'
  readonly log: string
  readonly offset: number
  bytes: number
}

/**
 * The record of a run on disk: every event a line of `events.ndjson`, the raw output in a log per
 * iteration to which the events refer. Only ever appended to, so that a crash costs at most a line.
 */
export class Journal {
  readonly #folder: string
  readonly #events: number
  readonly #stamp: Stamp
  #log: { readonly name: string; readonly file: OutputLog } | undefined
  #span: Span | undefined

  constructor(folder: string, stamp: Stamp) {
    this.#folder = folder
    this.#stamp = stamp
    this.#events = openSync(join(folder, 'events.ndjson'), 'a', 0o600)
  }

  append(event: RunEvent): void {
    this.#endSpan()
    if (event.type === 'iteration_ended') this.#endLog()
    this.#write(event)
  }

  output({ scope, step, iteration, stream, bytes }: OutputChunk): void {
    const log = `steps/${step}/iterations/${iteration}.log`
    const offset = this.#openLog(log).write(bytes)
    const span = this.#span
    if (
      span !== undefined &&
      span.log === log &&
      span.stream === stream &&
      span.bytes < SPAN_BYTES
    ) {
      span.bytes += bytes.length
      return
    }
    this.#endSpan()
    this.#span = { scope: [...scope], step, iteration, stream, log, offset, bytes: bytes.length }
  }

  close(): void {
    this.#endSpan()
    this.#endLog()
    closeSync(this.#events)
  }

  /** Lets go of the files without writing anything more. */
  abandon(): void {
    closeSync(this.#events)
    this.#log?.file.abandon()
  }

  #openLog(name: string): OutputLog {
    if (this.#log?.name === name) return this.#log.file
    this.#endLog()
    const path = join(this.#folder, name)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const file = new OutputLog(path)
    this.#log = { name, file }
    return file
  }

  #endLog(): void {
    const log = this.#log
    this.#log = undefined
    log?.file.close()
  }

  #endSpan(): void {
    const span = this.#span
    this.#span = undefined
    if (span !== undefined) this.#write(this.#stamp({ type: 'output', ...span }))
  }

  #write(event: RunEvent): void {
    writeSync(this.#events, `${JSON.stringify(event)}\n`)
  }
}
