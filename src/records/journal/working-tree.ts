import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode } from '../../base/errors.ts'
import { listNames, lstatOf, statOf } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import { holdLock, withLock } from '../../base/linux/lock.ts'
import { makePrivateFolder } from '../../base/private-folder.ts'
import { gitFolder, repositoryTop } from '../../base/repository.ts'
import { isLink } from '../../base/tracked.ts'
import { recordRoot } from './record-folder.ts'

export interface Occupant {
  readonly run: string
  /** The folder of its project. */
  readonly cwd: string
}

/** Marks a working tree as in use by a run, until `leave` or the end of the process. */
export interface Occupation {
  leave(): void
}

const NOT_OCCUPIED: Occupation = { leave: () => undefined }

/**
 * Marks the working tree of a project as in use, or returns the runs that `mayEnter` refused to join.
 * Every run has a file that is locked while its process lives, which works with reused pids and across
 * containers.
 */
export function enterWorkingTree(
  own: Occupant,
  env: Readonly<Record<string, string | undefined>>,
  mayEnter: (others: readonly Occupant[]) => boolean,
): Occupation | readonly Occupant[] {
  for (const folder of foldersFor(own.cwd, env)) {
    try {
      // A link that came with the project could make us remove other files.
      if (isLink(dirname(folder))) continue
      if (isLink(folder)) rmSync(folder)
      makePrivateFolder(dirname(folder))
      makePrivateFolder(folder)
      return withLock(join(folder, '.lock'), () => occupy(folder, own, mayEnter))
    } catch (error) {
      // A full or read-only disk must not prevent runs.
      if (errorCode(error) === undefined) throw error
    }
  }
  return NOT_OCCUPIED
}

/** The active runs in the working tree with this git folder. */
export function runsAtWork(git: string): string[] {
  const folder = join(git, AT_WORK)
  // It may have come with the git folder, and lead to where nothing may be written.
  if (isLink(folder) || isLink(dirname(folder))) return []
  const names = listNames(folder).filter((name) => !name.startsWith('.'))
  if (names.length === 0) return []
  // A run that enters at this moment must find its file free.
  return withLock(join(folder, '.lock'), () =>
    names.filter((name) => {
      const path = join(folder, name)
      if (lstatOf(path)?.isFile() !== true) return false
      const giveBack = holdLock(path)
      giveBack?.()
      return giveBack === undefined
    }),
  )
}

const AT_WORK = 'forkhestra/at-work'

/** In the git folder, which belongs to the whole tree; else with the records of the project. */
function foldersFor(cwd: string, env: Readonly<Record<string, string | undefined>>): string[] {
  const top = repositoryTop(cwd)
  const git = top === undefined ? undefined : gitFolder(top)
  // A `.git` file may point anywhere.
  const isGit = git !== undefined && statOf(join(git, 'HEAD')) !== undefined
  const records = recordRoot(cwd, env)
  return [
    ...(isGit ? [join(git, AT_WORK)] : []),
    ...(records === undefined ? [] : [join(records, '.at-work')]),
  ]
}

function occupy(
  folder: string,
  own: Occupant,
  mayEnter: (others: readonly Occupant[]) => boolean,
): Occupation | readonly Occupant[] {
  const path = join(folder, own.run)
  const giveBack = holdLock(path)
  // Without locks, all runs would seem to be active forever.
  if (giveBack === undefined) return NOT_OCCUPIED
  const leave = () => {
    try {
      rmSync(path, { force: true })
    } catch {
      // The next run removes it, as its lock is free.
    }
    giveBack()
  }
  const others = occupantsOf(folder, own.run)
  if (mayEnter(others)) {
    writeFileSync(path, `${JSON.stringify(own)}\n`)
    return { leave }
  }
  leave()
  return others
}

/** The other active runs. Also removes the files of dead ones. */
function occupantsOf(folder: string, own: string): Occupant[] {
  const names = readdirSync(folder).filter((name) => !name.startsWith('.') && name !== own)
  return names.flatMap((name) => {
    const path = join(folder, name)
    if (lstatOf(path)?.isFile() !== true) return []
    const giveBack = holdLock(path)
    if (giveBack === undefined) return [readOccupant(path, name)]
    rmSync(path, { force: true })
    giveBack()
    return []
  })
}

function readOccupant(path: string, run: string): Occupant {
  try {
    const { cwd } = parseJson(readFileSync(path, 'utf8')) as Partial<Occupant>
    return { run, cwd: String(cwd) }
  } catch {
    return { run, cwd: '' }
  }
}
