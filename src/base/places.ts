import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { errorCode } from './errors.ts'

/** The folders, or single files, in which somebody may act. */
export interface Places {
  /** Paths are relative to it. */
  readonly cwd: string
  /** Further ones, with all that is in them. */
  readonly roots?: readonly string[]
}

export type Opened =
  | { readonly kind: 'opened'; readonly fd: number; readonly path: string }
  | { readonly kind: 'outside' }
  | { readonly kind: 'failed'; readonly path: string; readonly error: unknown }

/**
 * Opens for reading, without waiting for the other end of a FIFO. Nothing outside is opened, by
 * whatever links the path leads there: what was opened is judged, not what the path once meant.
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
 * Where a path leads with all links followed, also where nothing is there yet; undefined outside.
 * Whether something outside exists is told to nobody.
 */
export function pathInside(path: string, places: Places): string | undefined {
  const real = whereTo(resolve(places.cwd, path))
  return isInside(real, realPlaces(places)) ? real : undefined
}

export function realPlaces({ cwd, roots = [] }: Places): readonly string[] {
  return ['', ...roots].map((place) => whereTo(resolve(cwd, place)))
}

function isInside(path: string, places: readonly string[]): boolean {
  return places.some((place) =>
    `${path}${sep}`.startsWith(place.endsWith(sep) ? place : place + sep),
  )
}

/**
 * Opens a folder for what is to be put into it, and makes what is missing of it; undefined where that
 * would be outside. Each part is made in the one that was opened before: a link that takes the place of
 * one of them in the meantime leads nowhere.
 */
export function openFolder(path: string, places: Places): number | undefined {
  const inside = realPlaces(places)
  const missing: string[] = []
  let fd = openOr(path, (part) => missing.unshift(part))
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
      if (!existsSync(here)) mkdirSync(here)
      fd = openSync(here, FOLDER | constants.O_NOFOLLOW)
    } finally {
      closeSync(outer)
    }
  }
}

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY

/** Opens the nearest folder that exists; what is missing below it is told, the innermost first. */
function openOr(path: string, lacks: (part: string) => void): number {
  try {
    return openSync(path, FOLDER)
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error
    lacks(basename(path))
    return openOr(dirname(path), lacks)
  }
}

/** A path to an opened folder that means the same folder for as long as it is open (Linux). */
export function throughOpened(fd: number, path: string): string {
  const opened = `/proc/self/fd/${fd}`
  return existsSync(opened) ? opened : path
}

/** Where an opened file is. Linux knows; elsewhere the path is followed once more. */
function pathOfOpened(fd: number, path: string): string {
  return linkAt(`/proc/self/fd/${fd}`) ?? realPathOf(path) ?? path
}

const MOST_LINKS = 40

function whereTo(path: string, links = MOST_LINKS): string {
  const real = realPathOf(path)
  const parent = dirname(path)
  if (real !== undefined || parent === path) return real ?? path
  const here = join(whereTo(parent, links), basename(path))
  const target = links > 0 ? linkAt(here) : undefined
  return target === undefined ? here : whereTo(resolve(dirname(here), target), links - 1)
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}
