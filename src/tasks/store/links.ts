import { relative } from 'node:path'
import { lstatOf } from '../../base/files.ts'
import { findForeignLink, isLink } from '../../base/tracked.ts'
import { CannotChange } from '../text/frontmatter.ts'
import type { Places } from './places.ts'

/** A change that would leave the project through a link that came with it. */
export class ForeignLink extends CannotChange {}

/** Throws where something is written only through a link that came with the project and leads out of it. */
export function refuseForeign(path: string, { top }: Places): void {
  const link = findForeignLink(path, top, process.env)
  if (link === undefined) return
  throw new ForeignLink(
    `${relative(top, link)} is a symbolic link that leads out of the project: nothing is written there.`,
    'Replace it by what it leads to. A link that git does not track is followed.',
  )
}

export function isForeign(path: string, { top }: Places): boolean {
  return findForeignLink(path, top, process.env) !== undefined
}

export function isRealFile(path: string): boolean {
  return lstatOf(path)?.isFile() === true
}

/** Where the local state is, or would be, outside of git: a folder of its own and no link. */
export function isOwnFolder(path: string, places: Places): boolean {
  return !isLink(path) && !isForeign(path, places)
}
