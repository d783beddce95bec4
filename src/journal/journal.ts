import { closeSync, fstatSync, mkdirSync, openSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeAll } from '../base/files.ts'
import type { EventOf, OutputChunk, Stamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import { OutputLog } from './output-log.ts'
import { keepOutOfGit } from './record-folder.ts'

/** A run of bytes of one stream is one event up to this length and for this time. */
const SPAN_BYTES = 1024 * 1024
const SPAN_MS = 1000

/** So much of what an agent says may wait to be written. */
const WAITING_LENGTH = 64 * 1024

/** The log of an iteration while it is written, and the bytes that no event has told of yet. */
interface OpenLog {
  readonly name: string
  readonly file: OutputLog
  span: EventOf<'output'> | undefined
}

/**
 * The record of a run on disk: every event a line of `events.ndjson`, the raw output in a log per
 * iteration to which the events refer. Only ever appended to, so that a crash costs at most a line.
 */
export class Journal {
  readonly #folder: string
  readonly #events: number
  readonly #stamp: Stamp
  readonly #logs = new Map<string, OpenLog>()
  #waiting = ''

  constructor(folder: string, stamp: Stamp) {
    this.#folder = folder
    this.#stamp = stamp
    this.#events = openSync(join(folder, 'events.ndjson'), 'a', 0o600)
  }

  append(event: RunEvent): void {
    // What an agent says and does comes in thousands; it may wait for company like its output.
    if (event.type === 'message' || event.type === 'tool') return this.#keep(event)
    for (const log of this.#logs.values()) this.#endSpan(log)
    if (event.type === 'iteration_ended') {
      this.#checkFolder()
      this.#endLog(event.scope.join('/'))
    }
    this.#write(event)
  }

  output(chunk: OutputChunk): void {
    const log = this.#openLog(chunk)
    const offset = log.file.write(chunk.bytes)
    const { span } = log
    if (span !== undefined && span.stream === chunk.stream && span.bytes! < SPAN_BYTES) {
      span.bytes! += chunk.bytes.length
      return
    }
    this.#endSpan(log)
    const { bytes, scope, ...place } = chunk
    const at = { offset, bytes: bytes.length, log: log.name }
    const event = this.#stamp({ type: 'output', ...place, scope: [...scope], ...at })
    log.span = event as EventOf<'output'>
  }

  #keep(event: RunEvent): void {
    this.#waiting += `${JSON.stringify(event)}\n`
    if (this.#waiting.length > WAITING_LENGTH) this.#writeWaiting()
  }

  /** Writes down what has been waiting for company; called now and then. */
  flush(): void {
    this.#writeWaiting()
    for (const log of this.#logs.values()) {
      if (log.span !== undefined && Date.parse(log.span.at) < Date.now() - SPAN_MS)
        this.#endSpan(log)
    }
  }

  close(): void {
    for (const scope of this.#logs.keys()) this.#endLog(scope)
    this.#writeWaiting()
    closeSync(this.#events)
  }

  /** Lets go of the files without writing anything more. */
  abandon(): void {
    for (const { file } of this.#logs.values()) file.abandon()
    this.#logs.clear()
    closeSync(this.#events)
  }

  #openLog({ scope, step, iteration, attempt }: OutputChunk): OpenLog {
    const key = scope.join('/')
    const open = this.#logs.get(key)
    if (open !== undefined) return open
    this.#checkFolder()
    keepOutOfGit(dirname(this.#folder))
    const again = attempt === 1 ? '' : `.${attempt}`
    const name = `steps/${step}/iterations/${iteration}${again}.log`
    const path = join(this.#folder, name)
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const log = { name, file: new OutputLog(path), span: undefined }
    this.#logs.set(key, log)
    return log
  }

  /** An agent that cleans up may have taken the record away under our hands. */
  #checkFolder(): void {
    if (fstatSync(this.#events).nlink === 0) throw new Error(`${this.#folder} was deleted`)
  }

  #endLog(scope: string): void {
    const log = this.#logs.get(scope)
    if (log === undefined) return
    this.#logs.delete(scope)
    this.#endSpan(log)
    log.file.close()
  }

  #endSpan(log: OpenLog): void {
    const { span } = log
    log.span = undefined
    if (span !== undefined) this.#write(span)
  }

  #write(event: RunEvent): void {
    this.#waiting += `${JSON.stringify(event)}\n`
    this.#writeWaiting()
  }

  #writeWaiting(): void {
    const lines = this.#waiting
    this.#waiting = ''
    if (lines !== '') writeAll(this.#events, Buffer.from(lines))
  }
}
