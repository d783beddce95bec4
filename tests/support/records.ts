import { join } from 'node:path'
import { mkdirSync } from 'node:fs'
import { makeStamp, type EventBody, type OutputChunk } from '../../src/records/events/event.ts'
import { next } from '../../src/records/events/fold.ts'
import { NO_EVENTS } from '../../src/records/events/state.ts'
import { Journal } from '../../src/records/journal/journal.ts'
import { Origins } from '../../src/records/journal/origins.ts'
import { makeRecordFolder, type RecordPlaces } from '../../src/records/journal/record-folder.ts'
import { RunLock } from '../../src/records/journal/run-lock.ts'
import { environment } from './forkhestra.ts'
import { makeProject } from './project.ts'

/** The records folder of a project with a forge/ folder. */
export const RECORDS = 'forge/orch/runs'

const origins = new Map<string, Origins>()

/** Records in a folder, for the user who made them. */
export function placesAt(root: string): RecordPlaces {
  const known = origins.get(root) ?? new Origins({ XDG_STATE_HOME: makeProject() })
  origins.set(root, known)
  return { roots: [root], origins: known }
}

/** Writes a record without a run, with the code of the program. */
export class MadeRecord {
  readonly folder: string
  readonly id: string
  readonly #journal: Journal
  readonly #stamp
  readonly #lock: RunLock
  readonly #origins: Origins
  #state = NO_EVENTS

  constructor(project: string, id: string) {
    const root = join(project, RECORDS)
    mkdirSync(root, { recursive: true })
    this.id = id
    this.folder = makeRecordFolder(root, id)
    this.#origins = new Origins(environment({ cwd: project }))
    this.#origins.sign(this.folder, undefined)
    this.#stamp = makeStamp(id, 'w-test')
    this.#journal = new Journal(this.folder, this.#stamp)
    const lock = RunLock.take(this.folder)
    if (!(lock instanceof RunLock)) throw new Error('the record is locked')
    this.#lock = lock
  }

  /** Appends events; `at` is the time of each. */
  append(...bodies: (EventBody & { readonly at?: string })[]): this {
    for (const body of bodies) {
      const event = { ...this.#stamp(body), ...(body.at === undefined ? {} : { at: body.at }) }
      this.#state = next(this.#state, event)
      if (body.type === 'run_started') this.#origins.sign(this.folder, body.plan)
      this.#journal.append(event)
      this.#journal.checkpoint(this.#state)
    }
    return this
  }

  print(text: string | Uint8Array, more: Partial<OutputChunk> = {}): this {
    const place = { scope: ['s1', 'i1'], step: 1, iteration: 1, attempt: 1 }
    const bytes = typeof text === 'string' ? Buffer.from(text) : text
    this.#journal.output({ ...place, stream: 'out', bytes, ...more })
    return this
  }

  /** Writes the events so far to disk. */
  flush(): this {
    this.#journal.flush()
    return this
  }

  /** Closes the record like a process that ends cleanly. */
  close(): this {
    this.#journal.close()
    this.#lock.release()
    return this
  }
}
