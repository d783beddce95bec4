import { dirname, join } from 'node:path'
import { realPathOf, statOf } from './files.ts'
import { holdsRepository } from './repository.ts'
import type { Environment } from './environment.ts'

/** The folder that a command works on. */
export interface FoundProject {
  readonly folder: string
  /** The folders that were searched, from the current one up to the project, or to the last one. */
  readonly searched: readonly string[]
  readonly isFound: boolean
  /** A parent project that is ignored because it belongs to another user. */
  readonly foreign?: string
}

/** Any of these makes a folder a project; a folder `forge` alone may be ordinary source code. */
const MARKS = ['forge/orch', 'forge/tasks', 'forge/chains.json']

/**
 * The nearest project in this folder or its parents, up to the top of the repository and only in
 * folders of this user; the folder itself if there is none. Outside a repository the home folder and the
 * root of the file system are not searched: a project there would capture everything below it.
 */
export function findProject(from: string, env: Environment): FoundProject {
  const searched: string[] = []
  let foreign: string | undefined
  for (const folder of foldersUpwards(from, env['HOME'])) {
    searched.push(folder)
    if (!hasMark(folder)) continue
    const isUsable = folder === from || isOwn(folder)
    if (isUsable) return { folder, searched, isFound: true }
    foreign ??= folder
  }
  return { folder: from, searched, isFound: false, ...(foreign === undefined ? {} : { foreign }) }
}

/** The current folder first; the top of its repository last. */
function foldersUpwards(from: string, home: string | undefined): string[] {
  const folders = [from]
  for (let folder = from; !holdsRepository(folder);) {
    const parent = dirname(folder)
    if (parent === folder) {
      const homes = [home ?? '', realPathOf(home ?? '') ?? '']
      return folders.filter((each) => each === from || !isAbove(each, ['/', ...homes]))
    }
    folders.push((folder = parent))
  }
  return folders
}

/** Whether a folder is one of these places, or contains one. */
function isAbove(folder: string, places: readonly string[]): boolean {
  return places.some((place) => place === folder || place.startsWith(`${folder}/`))
}

function hasMark(folder: string): boolean {
  // Most folders have no `forge` at all.
  if (statOf(join(folder, 'forge'))?.isDirectory() !== true) return false
  return MARKS.some((mark) => statOf(join(folder, mark)) !== undefined)
}

const SHARED = 0o1002

/** A folder such as `/tmp`, which everyone may write to, does not count as the user's own. */
function isOwn(folder: string): boolean {
  const user = process.getuid?.()
  return [folder, join(folder, 'forge')].every((path) => {
    const stat = statOf(path)
    if (stat === undefined || (stat.mode & SHARED) === SHARED) return false
    return user === undefined || stat.uid === user
  })
}
