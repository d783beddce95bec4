import { lstatSync, readdirSync, type Dirent } from 'node:fs'
import { IN, Inotify, type FileEvent } from './inotify.ts'

/** The kernel has about a kilobyte for each, and every user only so many. */
const MOST_FOLDERS = 20_000

/** After so many folders others have their turn. */
const AT_A_TIME = 100

const CHANGES =
  IN.MODIFY | IN.ATTRIB | IN.CLOSE_WRITE | IN.MOVED_FROM | IN.MOVED_TO | IN.CREATE | IN.DELETE

/** Of the root alone: all others have a watched folder around them. */
const ROOT_GONE = IN.MOVE_SELF | IN.DELETE_SELF

/** What is in these says how git looks at others. */
const RULES = /(^|\/)\.git(ignore|attributes|modules)?$/

/** What happened since it was asked last; paths from the root, a sign for each byte. */
interface Touched {
  /** Files, and folders with all that is in them. */
  readonly paths: ReadonlySet<string>
  /** Folders among them that may be new. */
  readonly folders: ReadonlySet<string>
}

/**
 * Knows what was touched in a tree of folders. Paths that git ignores are left out; folders among them
 * end with a slash.
 */
export class TreeWatch {
  readonly #root: string
  readonly #ignored: ReadonlySet<string>
  readonly #inotify: Inotify
  readonly #folders = new Map<number, string>()
  readonly #watches = new Map<string, number>()
  /** Folders with a repository of their own: what is in them is not watched. */
  readonly repositories = new Set<string>()

  private constructor(root: string, ignored: ReadonlySet<string>, inotify: Inotify) {
    this.#root = root
    this.#ignored = ignored
    this.#inotify = inotify
  }

  static open(root: string, ignored: ReadonlySet<string>): TreeWatch | undefined {
    const inotify = Inotify.open()
    return inotify && new TreeWatch(root, ignored, inotify)
  }

  close(): void {
    this.#inotify.close()
  }

  /** Watches a folder and all in it; false where that cannot be done for each of them in time. */
  async watch(start: string, deadline: number, most = MOST_FOLDERS): Promise<boolean> {
    const left = [start]
    for (let seen = 1; left.length > 0; seen++) {
      const folder = left.pop()!
      const isGone = !this.#add(folder)
      if (isGone && this.isFolder(folder)) return false
      const inside = isGone ? [] : this.#listFolders(folder)
      if (inside === undefined) return false
      left.push(...inside)
      if (seen % AT_A_TIME === 0) await new Promise(setImmediate)
      if (seen > most || performance.now() > deadline) return false
    }
    return true
  }

  #add(folder: string): boolean {
    if (this.#watches.size >= MOST_FOLDERS) return false
    const mask = CHANGES | IN.ONLYDIR | IN.DONT_FOLLOW | (folder === '' ? ROOT_GONE : 0)
    const watch = this.#inotify.add(this.#full(folder), mask)
    if (watch === undefined) return false
    // Mounted at two places: nobody could say which of them an event is about.
    if ((this.#folders.get(watch) ?? folder) !== folder) return false
    this.#folders.set(watch, folder)
    this.#watches.set(folder, watch)
    return true
  }

  /** Folders in a folder, as far as git looks into them; undefined where a name is no text. */
  #listFolders(folder: string): string[] | undefined {
    const entries = readFolder(this.#full(folder).toString())
    if (folder !== '' && entries.some(({ name }) => name === '.git')) {
      this.repositories.add(folder)
      this.leave(folder)
      return []
    }
    // Of an unknown kind are all on some file systems: they may be folders, too.
    const maybe = entries.filter((entry) => !entry.isFile() && !entry.isSymbolicLink())
    if (maybe.some(({ name }) => name.includes('\ufffd'))) return undefined
    return maybe
      .map(({ name }) => join(folder, Buffer.from(name).toString('latin1')))
      .filter((path) => path !== '.git' && !this.#ignored.has(`${path}/`))
  }

  /** Watches a folder, and those in it, no longer. */
  leave(folder: string): void {
    if (!this.#watches.has(folder)) return
    for (const [path, watch] of this.#watches) {
      if (path !== folder && !path.startsWith(`${folder}/`)) continue
      this.#inotify.remove(watch)
      this.#forget(watch)
    }
  }

  /** Whether it would be noticed if a file at this path were changed. */
  sees(path: string): boolean {
    const folder = parentOf(path)
    return this.#watches.has(folder) || this.repositories.has(path) || !this.isFolder(folder)
  }

  /** What was touched since the last time; undefined where not all of it is known. */
  drain(): Touched | undefined {
    const touched = { paths: new Set<string>(), folders: new Set<string>() }
    let isSure = true
    // Whatever comes out of it: the queue has to be empty afterwards.
    for (const event of this.#inotify.read()) isSure = this.#take(event, touched) && isSure
    return isSure ? touched : undefined
  }

  /** False where it leaves open what else has changed. */
  #take(
    { watch, mask, name }: FileEvent,
    { paths, folders }: { paths: Set<string>; folders: Set<string> },
  ): boolean {
    if ((mask & (IN.Q_OVERFLOW | IN.UNMOUNT | ROOT_GONE)) !== 0) return false
    const folder = this.#folders.get(watch)
    if ((mask & IN.IGNORED) !== 0) this.#forget(watch)
    if (folder === undefined || (mask & IN.IGNORED) !== 0) return true
    const path = name === '' ? folder : join(folder, name)
    if (path === '' || RULES.test(path)) return false
    const isFolder = name === '' || (mask & IN.ISDIR) !== 0
    if (this.#ignored.has(isFolder ? `${path}/` : path)) return true
    paths.add(path)
    // Its watch has gone with it, and tells of a place where it is not any more.
    if (isFolder && (mask & IN.MOVED_FROM) !== 0) return !this.#watches.has(path)
    if (isFolder && (mask & (IN.CREATE | IN.MOVED_TO)) !== 0) folders.add(path)
    return true
  }

  #forget(watch: number): void {
    const folder = this.#folders.get(watch)
    this.#folders.delete(watch)
    if (folder !== undefined && this.#watches.get(folder) === watch) this.#watches.delete(folder)
  }

  isFolder(folder: string): boolean {
    try {
      return lstatSync(this.#full(folder)).isDirectory()
    } catch {
      return false
    }
  }

  #full(folder: string): Buffer {
    return Buffer.concat([Buffer.from(`${this.#root}/`), Buffer.from(folder, 'latin1')])
  }
}

function readFolder(path: string): Dirent[] {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch {
    // Gone by now, of which there is an event.
    return []
  }
}

function join(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}
