import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  rmSync,
} from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { errorCode, tryOr } from './errors.ts'
import { lstatOf, realPathOf } from './files.ts'

/** The folders and files that an agent may access. */
export interface Places {
  /** Relative paths start here. */
  readonly cwd: string
  /** Further folders and files. */
  readonly roots?: readonly string[]
}

export type Opened =
  | { readonly kind: 'opened'; readonly fd: number; readonly path: string }
  | { readonly kind: 'outside' }
  | { readonly kind: 'failed'; readonly path: string; readonly error: unknown }

/**
 * Opens a file for reading, without waiting for the other end of a FIFO. Links cannot lead outside: the
 * check is made on the opened file, not on the path, which may change in between.
 */
export function openInside(path: string, places: Places): Opened {
  const real = pathInside(path, places)
  if (real === undefined) return { kind: 'outside' }
  let fd: number
  try {
    fd = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    return { kind: 'failed', path: real, error }
  }
  const opened = pathOfOpened(fd, real)
  if (isInside(opened, realPlaces(places))) return { kind: 'opened', fd, path: opened }
  closeSync(fd)
  return { kind: 'outside' }
}

/**
 * The real path, even of a file that does not exist yet; undefined if it is outside. The caller does not
 * learn whether something outside exists.
 */
export function pathInside(path: string, places: Places): string | undefined {
  const real = resolveTarget(resolve(places.cwd, path))
  return isInside(real, realPlaces(places)) ? real : undefined
}

export function realPlaces({ cwd, roots = [] }: Places): readonly string[] {
  return ['', ...roots].map((place) => resolveTarget(resolve(cwd, place)))
}

function isInside(path: string, places: readonly string[]): boolean {
  return places.some((place) =>
    `${path}${sep}`.startsWith(place.endsWith(sep) ? place : place + sep),
  )
}

/**
 * Opens a folder and creates its missing parts; undefined if it is outside. Each part is created in the
 * opened folder above it, so that replacing one of them by a link meanwhile has no effect.
 */
export function openFolder(path: string, places: Places, mode?: number): number | undefined {
  const inside = realPlaces(places)
  const missing: string[] = []
  let fd = openNearest(path, (part) => missing.unshift(part))
  let here = path.slice(0, path.length - missing.join(sep).length)
  for (;;) {
    const opened = pathOfOpened(fd, here)
    if (!isInside(join(opened, ...missing), inside)) {
      closeSync(fd)
      return undefined
    }
    const name = missing.shift()
    if (name === undefined) return fd
    here = join(throughOpened(fd, opened), name)
    const outer = fd
    try {
      if (lstatOf(here) === undefined) mkdirSync(here, mode)
      fd = openSync(here, FOLDER | constants.O_NOFOLLOW)
    } catch (error) {
      // The folder has just been replaced by a link.
      if (errorCode(error) === 'ELOOP' || errorCode(error) === 'ENOTDIR') return undefined
      throw error
    } finally {
      closeSync(outer)
    }
  }
}

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY

/**
 * Calls `work` with a safe path to a file of one of our own folders: no link leads out of it, even if
 * someone replaces its folders meanwhile. Missing folders are created.
 */
export function withFileIn<Result>(
  root: string,
  name: string,
  work: (path: string) => Result,
): Result {
  // Throws if the root is gone: it must not be created again.
  const isReal = lstatSync(root).isDirectory()
  const top = isReal ? openSync(root, FOLDER | constants.O_NOFOLLOW) : undefined
  const folder = join(root, dirname(name))
  const through = top === undefined ? folder : join(throughOpened(top, root), dirname(name))
  try {
    if (top !== undefined && fstatSync(top).nlink === 0) throw new Error(`${root} was deleted`)
    const fd = top === undefined ? undefined : openFolder(through, { cwd: root }, 0o700)
    if (fd === undefined) throw new Error(`a symbolic link points outside ${root}: ${folder}`)
    try {
      return work(join(throughOpened(fd, folder), basename(name)))
    } finally {
      closeSync(fd)
    }
  } finally {
    if (top !== undefined) closeSync(top)
  }
}

/** A folder that is opened once: what takes its name later, such as a link, is never written to (Linux). */
export class KeptFolder {
  readonly #fd: number
  /** Means this folder for as long as it is kept, wherever it is moved. */
  readonly path: string

  constructor(path: string) {
    this.#fd = openSync(path, FOLDER | constants.O_NOFOLLOW)
    const through = throughOpened(this.#fd, path)
    // With the dot it is the folder itself, and not a link to it.
    this.path = through === path ? path : `${through}/.`
  }

  get isDeleted(): boolean {
    return fstatSync(this.#fd).nlink === 0
  }

  /** Whether the folder is still at this path. */
  isAt(path: string): boolean {
    const { ino, dev } = fstatSync(this.#fd)
    const there = lstatOf(path)
    return there?.ino === ino && there.dev === dev
  }

  close(): void {
    closeSync(this.#fd)
  }
}

export function removeFileIn(root: string, name: string): void {
  if (existsSync(join(root, name))) withFileIn(root, name, (path) => rmSync(path, { force: true }))
}

/** Opens the nearest existing folder, and calls `onMissing` for each missing part, the innermost first. */
function openNearest(path: string, onMissing: (part: string) => void): number {
  try {
    return openSync(path, FOLDER)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error
    onMissing(basename(path))
    return openNearest(dirname(path), onMissing)
  }
}

/** A path to an opened folder that stays valid even if the folder is moved or replaced (Linux). */
export function throughOpened(fd: number, path: string): string {
  const opened = `/proc/self/fd/${fd}`
  return existsSync(opened) ? opened : path
}

/** The current path of an opened file (Linux); elsewhere the real path of `path`. */
export function pathOfOpened(fd: number, path: string): string {
  return linkAt(`/proc/self/fd/${fd}`) ?? realPathOf(path) ?? path
}

const MOST_LINKS = 40

function resolveTarget(path: string, links = MOST_LINKS): string {
  const real = realPathOf(path)
  const parent = dirname(path)
  if (real !== undefined || parent === path) return real ?? path
  const here = join(resolveTarget(parent, links), basename(path))
  const target = links > 0 ? linkAt(here) : undefined
  return target === undefined ? here : resolveTarget(resolve(dirname(here), target), links - 1)
}

function linkAt(path: string): string | undefined {
  return tryOr(undefined, () => readlinkSync(path))
}
