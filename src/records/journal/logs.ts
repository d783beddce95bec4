import { errorCode } from '../../base/errors.ts'
import type { EventOf, OutputChunk, Stamp } from '../events/event.ts'
import { OutputLog } from './output-log.ts'
import { iterationPath, scopeKey, taskPath } from './paths.ts'

/** Output of one stream becomes one event, up to this length. */
const SPAN_BYTES = 1024 * 1024

/** The log of a running iteration, and the bytes that no event reports yet. */
interface OpenLog {
  readonly name: string
  readonly file: OutputLog
  span: EventOf<'output'> | undefined
}

/** The logs of running iterations, and the events that locate their bytes. */
export class Logs {
  readonly #folder: string
  readonly #stamp: Stamp
  readonly #onSpan: (span: EventOf<'output'>) => void
  readonly #open = new Map<string, OpenLog>()
  /** Iterations whose output is dropped for now, because a log with gaps would be misleading. */
  readonly #broken = new Set<string>()

  constructor(folder: string, stamp: Stamp, onSpan: (span: EventOf<'output'>) => void) {
    this.#folder = folder
    this.#stamp = stamp
    this.#onSpan = onSpan
  }

  /** Whether an iteration has already printed something. */
  has(scope: readonly string[]): boolean {
    return this.#open.has(scopeKey(scope)) || this.#broken.has(scopeKey(scope))
  }

  /** After a failed write, the output of the iteration is dropped until `resume`. */
  write(chunk: OutputChunk, round: number | undefined): void {
    const key = scopeKey(chunk.scope)
    if (this.#broken.has(key)) return
    try {
      this.#write(chunk, round)
    } catch (error) {
      this.#break(chunk.scope)
      throw error
    }
  }

  #break(scope: readonly string[]): void {
    try {
      this.end(scope)
    } finally {
      this.#broken.add(scopeKey(scope))
    }
  }

  /** Writes output again, into new logs. */
  resume(): void {
    this.#broken.clear()
  }

  #write(chunk: OutputChunk, round: number | undefined): void {
    const log = this.#openLog(chunk, round)
    const offset = log.file.write(chunk.bytes)
    const { span } = log
    if (span !== undefined && span.stream === chunk.stream && span.bytes! < SPAN_BYTES) {
      span.bytes! += chunk.bytes.length
      return
    }
    this.#endSpan(log)
    const { bytes, scope, step, iteration, attempt, task, stream } = chunk
    const again = round === undefined ? {} : { round }
    const of = task === undefined ? {} : { task }
    const place = { scope: [...scope], step, ...again, iteration, attempt, ...of, stream }
    const at = { offset, bytes: bytes.length, log: log.name }
    log.span = this.#stamp({ type: 'output', ...place, ...at }) as EventOf<'output'>
  }

  /** Emits events for all bytes written so far. */
  endSpans(): void {
    for (const log of this.#open.values()) this.#endSpan(log)
  }

  /** Closes the log of an iteration and returns its name; undefined if nothing was printed. */
  end(scope: readonly string[]): string | undefined {
    const log = this.#open.get(scopeKey(scope))
    this.#broken.delete(scopeKey(scope))
    if (log === undefined) return undefined
    this.#open.delete(scopeKey(scope))
    this.#endSpan(log)
    log.file.close()
    return log.name
  }

  close(): void {
    for (const key of this.#open.keys()) this.end([key])
  }

  /** Closes the files without writing anything more. */
  abandon(): void {
    for (const { file } of this.#open.values()) file.abandon()
    this.#open.clear()
  }

  #openLog(chunk: OutputChunk, round: number | undefined): OpenLog {
    const key = scopeKey(chunk.scope)
    const open = this.#open.get(key)
    if (open !== undefined) return open
    const { scope, step, iteration, attempt, task } = chunk
    const path =
      task === undefined
        ? iterationPath({ step, scope, round, iteration, attempt })
        : taskPath(task, attempt)
    const log = { ...this.#makeLog(path), span: undefined }
    this.#open.set(key, log)
    return log
  }

  /** Keeps the log that a crashed process wrote for the same attempt. */
  #makeLog(path: string): Pick<OpenLog, 'name' | 'file'> {
    for (let count = 1; ; count++) {
      const name = count === 1 ? `${path}.log` : `${path}.again-${count}.log`
      try {
        return { name, file: new OutputLog(this.#folder, name) }
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error
      }
    }
  }

  #endSpan(log: OpenLog): void {
    const { span } = log
    log.span = undefined
    if (span !== undefined) this.#onSpan(span)
  }
}
