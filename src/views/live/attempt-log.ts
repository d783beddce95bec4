import { printable, printableLines } from '../../base/terminal/printable.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { scopeKey } from '../../records/journal/paths.ts'
import { describeTool } from '../describe.ts'
import type { Entry } from './history.ts'
import { LogLines } from './log-lines.ts'
import type { RecordReader } from './record-reader.ts'

/** Of a longer output, or of the events of a longer iteration, only the end is read. */
const MOST_BYTES = 4 * 1024 * 1024

/** What one attempt has printed and what happened around it, as far as it was read. */
export class AttemptLog {
  readonly entry: Entry
  readonly lines = new LogLines()
  readonly #reader: RecordReader
  readonly #isStructured: boolean
  readonly #scope: string
  #offset = 0
  #noted = 0
  #log: string

  constructor(entry: Entry, reader: RecordReader, isStructured: boolean) {
    this.entry = entry
    this.#reader = reader
    this.#isStructured = isStructured
    this.#scope = scopeKey(entry.of.scope)
    this.#log = entry.log
    if (isStructured) {
      const { from, to = reader.offset } = entry
      const start = Math.max(from, to - MOST_BYTES)
      if (start > from) this.lines.add({ text: '… the beginning is not shown', kind: 'own' })
      for (const event of reader.between(start, to)) this.take(event)
    }
    this.poll()
  }

  /** An event of the run that was just read. */
  take(event: RunEvent): void {
    if (!this.#isStructured || !('scope' in event) || scopeKey(event.scope) !== this.#scope) return
    switch (event.type) {
      case 'message':
        return this.lines.add({ text: printableLines(event.text.trimEnd()), kind: 'output' })
      case 'tool':
        return this.lines.add({ text: describeTool(event), kind: 'tool' })
      case 'tool_ended':
        if (event.error === undefined) return
        return this.lines.add({
          text: printable(`[${event.name}] failed: ${event.error}`),
          kind: 'failure',
        })
      case 'output':
        if (event.stream !== 'err' || event.log === undefined) return
        return this.#read(event.log, event.offset ?? 0, event.bytes ?? 0)
    }
  }

  /** Reads what is new. */
  poll(): void {
    const { entry } = this
    if (!this.#isStructured) this.#follow()
    for (const note of entry.notes.slice(this.#noted)) this.lines.add(note)
    this.#noted = entry.notes.length
  }

  #follow(): void {
    // A log that a crash left is followed by another.
    if (this.entry.log !== this.#log) this.#offset = 0
    this.#log = this.entry.log
    const { bytes, from, to } = this.#reader.output(this.#log, this.#offset, MOST_BYTES)
    if (from > this.#offset) this.lines.add({ text: '… earlier output is not shown', kind: 'own' })
    this.lines.bytes(bytes)
    this.#offset = to
  }

  #read(log: string, from: number, length: number): void {
    this.lines.bytes(this.#reader.part(log, from, length))
  }
}
