import { join } from 'node:path'
import { mkdirSync } from 'node:fs'
import { makeStamp, type EventBody, type OutputChunk } from '../../src/events/event.ts'
import { next, NO_EVENTS } from '../../src/events/state.ts'
import { Journal } from '../../src/journal/journal.ts'
import { Origins } from '../../src/journal/origins.ts'
import { makeRecordFolder, type RecordPlaces } from '../../src/journal/record-folder.ts'
import { RunLock } from '../../src/journal/run-lock.ts'
import { environment } from './forkhestra.ts'
import { makeProject } from './project.ts'

/** Where the records of a project with a forge/ folder are. */
export const RECORDS = 'forge/orch/runs'

const origins = new Map<string, Origins>()

/** Records in a folder, as those see them who have made them. */
export function placesAt(root: string): RecordPlaces {
  const known = origins.get(root) ?? new Origins({ XDG_STATE_HOME: makeProject() })
  origins.set(root, known)
  return { roots: [root], origins: known }
}

/** Writes the record of a run that never was, as the program itself writes it. */
export class MadeRecord {
  readonly folder: string
  readonly id: string
  readonly #journal: Journal
  readonly #stamp
  readonly #lock: RunLock
  #state = NO_EVENTS

  constructor(project: string, id: string) {
    const root = join(project, RECORDS)
    mkdirSync(root, { recursive: true })
    this.id = id
    this.folder = makeRecordFolder(root, id)
    new Origins(environment({ cwd: project })).sign(this.folder)
    this.#stamp = makeStamp(id, 'w-test')
    this.#journal = new Journal(this.folder, this.#stamp, { isDurable: false })
    const lock = RunLock.take(this.folder)
    if (!(lock instanceof RunLock)) throw new Error('somebody has the record')
    this.#lock = lock
  }

  /** Appends events; `at` is the time of each. */
  tell(...bodies: (EventBody & { readonly at?: string })[]): this {
    for (const body of bodies) {
      const event = { ...this.#stamp(body), ...(body.at === undefined ? {} : { at: body.at }) }
      this.#state = next(this.#state, event)
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

  /** Lets others see what has been told so far. */
  flush(): this {
    this.#journal.flush()
    return this
  }

  /** Ends as a process does that lets go of its record. */
  close(): this {
    this.#journal.close()
    this.#lock.release()
    return this
  }
}
