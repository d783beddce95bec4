import { errorText } from '../base/errors.ts'
import type { OutputChunk, Stamp } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import { Journal } from './journal.ts'
import { makeRecordFolder } from './record-folder.ts'

/** The journal of a run, or nothing where it cannot be written: the work is worth more. */
export class RunRecord {
  #journal: Journal | undefined
  #trouble: string | undefined
  /** Absent where the record could not be begun. */
  readonly folder: string | undefined

  constructor(root: string | undefined, run: string, stamp: Stamp) {
    this.folder = this.#guard(() => {
      if (root === undefined) throw new Error('HOME is no absolute path')
      const folder = makeRecordFolder(root, run)
      this.#journal = new Journal(folder, stamp)
      return folder
    })
  }

  append(event: RunEvent): void {
    this.#guard(() => this.#journal?.append(event))
  }

  output(chunk: OutputChunk): void {
    this.#guard(() => this.#journal?.output(chunk))
  }

  /** Called now and then while an agent speaks without anything else happening. */
  flush(): void {
    this.#guard(() => this.#journal?.flush())
  }

  close(): void {
    this.#guard(() => this.#journal?.close())
  }

  /** What went wrong since the last call, once. */
  takeTrouble(): string | undefined {
    const trouble = this.#trouble
    this.#trouble = undefined
    return trouble
  }

  #guard<T>(write: () => T): T | undefined {
    try {
      return write()
    } catch (error) {
      const journal = this.#journal
      this.#journal = undefined
      this.#trouble = errorText(error)
      try {
        journal?.abandon()
      } catch {
        // Its files are beyond help; what matters has been said.
      }
      return undefined
    }
  }
}
