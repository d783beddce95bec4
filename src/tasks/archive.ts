import { basename, dirname, join } from 'node:path'
import { idOfFileName } from './file-name.ts'
import { listFiles } from './store/folder.ts'
import type { TaskFolders } from './folders.ts'
import { idInside, readTaskFile, readTasks, type Broken, type Scan } from './store/scan.ts'
import type { Task } from './task.ts'

/** The archived tasks. A file whose name has an id is not opened to check it. */
export class Archive {
  readonly #folder: string
  readonly #named = new Map<string, string>()
  readonly #unnamed: string[] = []
  readonly #read = new Map<string, Task | Broken>()
  #renamed: ReadonlyMap<string, string> | undefined

  constructor({ archive }: TaskFolders) {
    this.#folder = archive
    for (const file of listFiles(archive)) {
      const id = idOfFileName(file)
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
    return this.#named.get(id) ?? (this.#renamed ??= this.#readIds()).get(id)
  }

  statusOf(id: string): string | undefined {
    const task = this.#readTask(id)
    if (task === undefined) return undefined
    return 'problem' in task ? 'unreadable' : task.status
  }

  /** Undefined if the file is missing or unreadable. */
  find(id: string): Task | undefined {
    const task = this.#readTask(id)
    return task === undefined || 'problem' in task ? undefined : task
  }

  /** Reads each file once, because many tasks may depend on the same archived one. */
  #readTask(id: string): Task | Broken | undefined {
    const file = this.fileOf(id)
    if (file === undefined) return undefined
    const task = this.#read.get(id) ?? readTaskFile(join(this.#folder, file), file)
    this.#read.set(id, task)
    return task
  }

  #readIds(): ReadonlyMap<string, string> {
    const ids = this.#unnamed.map((file) => ({ file, id: idInside(this.#folder, file) }))
    return new Map(ids.flatMap(({ file, id }) => (id ? [[id, file]] : [])))
  }
}

export function isArchived({ path }: { readonly path: string }, { archive }: TaskFolders): boolean {
  return dirname(path) === archive
}

/** Includes the folder, because an open and an archived file may have the same name. */
export function inArchive({ archive }: TaskFolders, file: string): string {
  return `${basename(archive)}/${file}`
}

/** Reads every file of the archive, which has no index. */
export function scanArchive(folders: TaskFolders): Scan {
  const { tasks, broken } = readTasks(folders.archive, listFiles(folders.archive))
  return { tasks, broken: broken.map((each) => ({ ...each, file: inArchive(folders, each.file) })) }
}
