import { basename, join } from 'node:path'
import { idOfFileName } from './file-name.ts'
import { renderId } from './id.ts'
import { listFiles } from './store/folder.ts'
import { idInside } from './store/id-inside.ts'
import type { Places } from './store/places.ts'
import { isTaskFile, readTaskFile, type Broken, type Scan } from './store/scan.ts'
import type { Task } from './task.ts'

/** The archived tasks. A file whose name has an id is not opened to check it. */
export class Archive {
  readonly #folder: string
  readonly #named = new Map<string, string>()
  readonly #unnamed: string[] = []
  readonly #read = new Map<string, Task | Broken | undefined>()
  #renamed: ReadonlyMap<string, string> | undefined

  constructor({ archive }: Places) {
    this.#folder = archive
    for (const file of listFiles(archive)) {
      const id = idOfName(file)
      if (id === undefined) this.#unnamed.push(file)
      else this.#named.set(id, file)
    }
  }

  get size(): number {
    return this.#named.size + this.#unnamed.length
  }

  has(id: string): boolean {
    return this.fileOf(id) !== undefined
  }

  /** Files without an id in their name are opened only if no name matches. */
  fileOf(id: string): string | undefined {
    const file = this.#named.get(id)
    if (file !== undefined || this.#unnamed.length === 0) return file
    this.#renamed ??= new Map(this.#unnamed.flatMap((each) => this.#entryOf(each)))
    return this.#renamed.get(id)
  }

  statusOf(id: string): string | undefined {
    const task = this.#readOnce(id)
    if (task === undefined) return undefined
    return 'problem' in task ? 'unreadable' : task.status
  }

  /** Undefined if the file is missing or unreadable. */
  find(id: string): Task | undefined {
    const task = this.#readOnce(id)
    return task === undefined || 'problem' in task ? undefined : task
  }

  /** Many tasks may depend on the same archived one. */
  #readOnce(id: string): Task | Broken | undefined {
    if (!this.#read.has(id)) {
      const file = this.fileOf(id)
      const path = file === undefined ? undefined : join(this.#folder, file)
      this.#read.set(id, path === undefined ? undefined : readTaskFile(path, file!))
    }
    return this.#read.get(id)
  }

  #entryOf(file: string): [id: string, file: string][] {
    const id = idInside(this.#folder, file)
    return id === undefined ? [] : [[renderId(id), file]]
  }
}

export function idOfName(file: string): string | undefined {
  const id = idOfFileName(file)
  return id === undefined ? undefined : renderId(id)
}

/** Includes the folder, because an open and an archived file may have the same name. */
export function inArchive({ archive }: Places, file: string): string {
  return `${basename(archive)}/${file}`
}

/** Reads every file of the archive, which has no index. */
export function scanArchive(places: Places): Scan {
  const tasks: Task[] = []
  const broken: Broken[] = []
  for (const file of listFiles(places.archive)) {
    const path = join(places.archive, file)
    const task = readTaskFile(path, file)
    if (!('problem' in task)) tasks.push(task)
    else if (isTaskFile(path, file)) broken.push({ ...task, file: inArchive(places, file) })
  }
  return { tasks, broken }
}
