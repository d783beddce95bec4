import { join } from 'node:path'
import { idOfFileName } from './file-name.ts'
import { renderId } from './id.ts'
import type { Places } from './store/places.ts'
import { listFiles } from './store/folder.ts'
import { readTaskFile } from './store/scan.ts'

/** The tasks that were put aside, found by the names of their files. */
export class Archive {
  readonly #folder: string
  readonly #files: ReadonlyMap<string, string>
  readonly #statuses = new Map<string, string | undefined>()

  constructor({ archive }: Places) {
    this.#folder = archive
    this.#files = new Map(listFiles(archive).map((file) => [idOfName(file) ?? file, file] as const))
  }

  has(id: string): boolean {
    return this.#files.has(id)
  }

  /** Many may wait for the same one, and it has to be read. */
  statusOf(id: string): string | undefined {
    const known = this.#statuses.get(id)
    if (known !== undefined || this.#statuses.has(id)) return known
    const status = this.#read(id)
    this.#statuses.set(id, status)
    return status
  }

  #read(id: string): string | undefined {
    const file = this.#files.get(id)
    if (file === undefined) return undefined
    const task = readTaskFile(join(this.#folder, file), file)
    return 'problem' in task ? 'unreadable' : task.status
  }
}

export function idOfName(file: string): string | undefined {
  const id = idOfFileName(file)
  return id === undefined ? undefined : renderId(id)
}
