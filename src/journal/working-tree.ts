import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode } from '../base/errors.ts'
import { lstatOf, statOf } from '../base/files.ts'
import { parseJson } from '../base/json.ts'
import { holdLock, withLock } from '../base/lock.ts'
import { makePrivateFolder } from '../base/private-folder.ts'
import { gitFolder, repositoryTop } from '../base/repository.ts'
import { isLink } from '../base/tracked.ts'
import { recordRoot } from './record-folder.ts'

/** A run that is at work in a working tree. */
export interface Occupant {
  readonly run: string
  /** Its project. */
  readonly cwd: string
}

/** The place of a run in its working tree; what is not left is free once the process is gone. */
export interface Seat {
  leave(): void
}

const NO_SEAT: Seat = { leave: () => undefined }

/**
 * Takes a place in the working tree of a project, or says who has it. Every run has a file, locked for
 * as long as its process lives, so that neither a reused pid nor another container can be mistaken for it.
 */
export function enterWorkingTree(
  own: Occupant,
  env: Readonly<Record<string, string | undefined>>,
  isWelcome: (others: readonly Occupant[]) => boolean,
): Seat | readonly Occupant[] {
  for (const folder of foldersFor(own.cwd, env)) {
    try {
      // Through a link that came with the project, files of others would be removed.
      if (isLink(dirname(folder))) continue
      if (isLink(folder)) rmSync(folder)
      makePrivateFolder(dirname(folder))
      makePrivateFolder(folder)
      return withLock(join(folder, '.lock'), () => takeSeat(folder, own, isWelcome))
    } catch (error) {
      // A disk that is full or read-only keeps nobody from working.
      if (errorCode(error) === undefined) throw error
    }
  }
  return NO_SEAT
}

/** With git, whose folder is that of the whole tree; else with the records of the project. */
function foldersFor(cwd: string, env: Readonly<Record<string, string | undefined>>): string[] {
  const top = repositoryTop(cwd)
  const git = top === undefined ? undefined : gitFolder(top)
  // A file `.git` may lead anywhere.
  const isGit = git !== undefined && statOf(join(git, 'HEAD')) !== undefined
  const records = recordRoot(cwd, env)
  return [
    ...(isGit ? [join(git, 'forkhestra/at-work')] : []),
    ...(records === undefined ? [] : [join(records, '.at-work')]),
  ]
}

function takeSeat(
  folder: string,
  own: Occupant,
  isWelcome: (others: readonly Occupant[]) => boolean,
): Seat | readonly Occupant[] {
  const path = join(folder, own.run)
  const giveBack = holdLock(path)
  // On a file system without locks everybody would seem to be at work for ever.
  if (giveBack === undefined) return NO_SEAT
  const leave = () => {
    rmSync(path, { force: true })
    giveBack()
  }
  const others = occupantsOf(folder, own.run)
  if (isWelcome(others)) {
    writeFileSync(path, `${JSON.stringify(own)}\n`)
    return { leave }
  }
  leave()
  return others
}

/** Files of the dead are removed by the way. */
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
