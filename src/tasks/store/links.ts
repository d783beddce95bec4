import { lstatSync, realpathSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { CannotChange } from '../text/frontmatter.ts'
import { isTracked } from './git.ts'
import type { Places } from './places.ts'

/** A change that would leave the project through a link that came with it. */
export class ForeignLink extends CannotChange {}

/** Throws where something is written only through a link that came with the project and leads out of it. */
export function refuseForeign(path: string, { top }: Places): void {
  const link = findForeign(path, top)
  if (link === undefined) return
  throw new ForeignLink(
    `${relative(top, link)} is a symbolic link that leads out of the project: nothing is written there.`,
    'Replace it by what it leads to. A link that git does not track is followed.',
  )
}

export function isForeign(path: string, { top }: Places): boolean {
  return findForeign(path, top) !== undefined
}

/**
 * The link that leads out of the project, or into its git folder, on the way to a path. Whoever publishes a
 * repository decides where its links lead, so only a link that git does not track is the user's own.
 */
function findForeign(path: string, top: string): string | undefined {
  if (staysInside(path, top)) return undefined
  const link = firstLink(path, top)
  return link === undefined || isTracked(link) ? (link ?? path) : undefined
}

function staysInside(path: string, top: string): boolean {
  const way = relative(top, realPath(path)).split(sep)
  return way[0] !== '..' && !way.includes('.git')
}

/** Of what is not there yet, the folder in which it will be. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // A link that leads nowhere is still a link.
    if (isLink(path)) return '/'
    return path === dirname(path) ? path : join(realPath(dirname(path)), 'new')
  }
}

function firstLink(path: string, top: string): string | undefined {
  let at = top
  for (const name of relative(top, path).split(sep)) {
    at = join(at, name)
    if (isLink(at)) return at
  }
  return undefined
}

function isLink(path: string): boolean {
  return lstatOf(path)?.isSymbolicLink() === true
}

export function isRealFile(path: string): boolean {
  return lstatOf(path)?.isFile() === true
}

/** Where the local state is, or would be, outside of git: a folder of its own and no link. */
export function isOwnFolder(path: string, places: Places): boolean {
  return !isLink(path) && !isForeign(path, places)
}

function lstatOf(path: string) {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
