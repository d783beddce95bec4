import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { lstatOf, statOf } from '../base/files.ts'
import { makePrivateFolder } from '../base/private-folder.ts'
import type { FoundProject } from '../base/project.ts'
import { repositoryTop } from '../base/repository.ts'
import { stateFolder } from '../base/state-folder.ts'
import { findForeignLink } from '../base/tracked.ts'
import { Origins } from './origins.ts'

const IN_PROJECT = 'forge/orch/runs'

type Environment = Readonly<Record<string, string | undefined>>

/** The folders with the records of a project, that of new ones first, and how to tell whose they are. */
export interface RecordPlaces<Roots extends readonly string[] = readonly string[]> {
  readonly roots: Roots
  readonly origins: Origins
}

/**
 * Where the records of runs live: with the project that has a `forge/` folder, else with the user, in
 * a folder for each project. Undefined where neither is known; a relative folder is nobody's home.
 */
export function recordRoot(cwd: string, env: Environment): string | undefined {
  const isInProject = statOf(join(cwd, 'forge'))?.isDirectory() === true && !leadsOut(cwd, env)
  return isInProject ? join(cwd, IN_PROJECT) : userRecordRoot(cwd, env)
}

/** A link that came with the project must not decide where we write, and what we remove there. */
function leadsOut(cwd: string, env: Environment): boolean {
  const real = realpathSync(cwd)
  const top = repositoryTop(real) ?? real
  return findForeignLink(join(real, IN_PROJECT), top, env) !== undefined
}

/**
 * All places where a project may have records: runs from before it had a `forge/` folder are still
 * with the user, by the folder in which they were started.
 */
export function recordPlaces(
  { folder, searched }: Pick<FoundProject, 'folder' | 'searched'>,
  env: Environment,
): RecordPlaces {
  const places = [recordRoot(folder, env), ...searched.map((each) => userRecordRoot(each, env))]
  const roots = [...new Set(places.filter((place) => place !== undefined))]
  return { roots, origins: new Origins(env) }
}

function userRecordRoot(cwd: string, env: Environment): string | undefined {
  const folder = stateFolder(env)
  return folder === undefined ? undefined : join(folder, nameFor(cwd))
}

/** Known by its name, and told apart by its path: `site-1k2j3h4g`. */
function nameFor(cwd: string): string {
  const name = basename(cwd).replaceAll(/[^\w.-]/g, '_') || 'root'
  return `${name.slice(0, 60)}-${Bun.hash.wyhash(cwd).toString(36).padStart(8, '0').slice(-8)}`
}

/** Makes the folder of one run. */
export function makeRecordFolder(root: string, run: string): string {
  const folder = join(root, run)
  makeRecordRoot(root)
  // What agents say is the user's business alone.
  mkdirSync(folder, { mode: 0o700 })
  return folder
}

/** Makes the folder of all records of a project, for its user alone. */
export function makeRecordRoot(root: string): void {
  if (!root.endsWith(IN_PROJECT)) makePrivateFolder(dirname(root))
  makePrivateFolder(root)
  keepOutOfGit(root)
}

const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants

/** The records ignore themselves, whatever the project ignores and however an agent cleaned up. */
export function keepOutOfGit(root: string): void {
  const path = join(root, '.gitignore')
  const stat = lstatOf(path)
  if (stat?.isFile() === true && stat.size > 0) return
  // What a link leads to is not ours. A file is kept: others may be waiting for its lock.
  if (stat?.isFile() === false) rmSync(path, { force: true })
  const fd = openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600)
  writeFileSync(fd, '*\n')
  closeSync(fd)
}

/** Makes a folder in a record; the folders whose names have changed by it are returned. */
export function makeFolder(path: string): string[] {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 })
  const changed: string[] = []
  if (first === undefined) return changed
  for (let made = path; made.length >= first.length; made = dirname(made))
    changed.push(dirname(made))
  return changed
}
