import { relative } from 'node:path'
import { lstatOf } from '../../base/files.ts'
import { findForeignLink, isLink } from '../../base/tracked.ts'
import { CannotChange } from '../text/frontmatter.ts'
import type { TaskFolders } from '../folders.ts'

export class ForeignLink extends CannotChange {}

/** Throws if the path leads out of the project through a link that git tracks. */
export function refuseForeign(path: string, { top }: TaskFolders): void {
  const link = findForeignLink(path, top, process.env)
  if (link === undefined) return
  throw new ForeignLink(
    `${relative(top, link)} is a symbolic link that points outside the project; forge-tasks does not write through it.`,
    'Replace it with its target, or remove the link from git: untracked links are followed.',
  )
}

export function isForeign(path: string, { top }: TaskFolders): boolean {
  return findForeignLink(path, top, process.env) !== undefined
}

export function isRealFile(path: string): boolean {
  return lstatOf(path)?.isFile() === true
}

/** Whether local state may be kept at a path: no link, and not reached through a tracked one. */
export function isOwnFolder(path: string, folders: TaskFolders): boolean {
  return !isLink(path) && (path !== folders.local || !isForeign(path, folders))
}
