import { mkdirSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { statOf } from '../../base/files.ts'
import { waitForLock } from '../../base/linux/lock.ts'
import { keepOutOfGit, makePrivateFolder } from '../../base/private-folder.ts'
import type { FoundProject } from '../../base/project.ts'
import { repositoryTop } from '../../base/repository.ts'
import { stateFolder } from '../../base/state-folder.ts'
import { findForeignLink } from '../../base/tracked.ts'
import { Origins } from './origins.ts'

const IN_PROJECT = 'forge/orch/runs'

type Environment = Readonly<Record<string, string | undefined>>

/** The folders with the records of a project, the one for new records first. */
export interface RecordPlaces<Roots extends readonly string[] = readonly string[]> {
  readonly roots: Roots
  readonly origins: Origins
  /** The run whose agent asks; runs that it started are visible to it. */
  readonly insideRun?: string | undefined
}

/**
 * The folder for records: inside a project that has a `forge/` folder, else in the user's state
 * folder. Undefined if neither exists.
 */
export function recordRoot(cwd: string, env: Environment): string | undefined {
  const isInProject = statOf(join(cwd, 'forge'))?.isDirectory() === true && !leadsOut(cwd, env)
  return isInProject ? join(cwd, IN_PROJECT) : userRecordRoot(cwd, env)
}

/** A link that came with the project must not choose where records are written and removed. */
function leadsOut(cwd: string, env: Environment): boolean {
  const real = realpathSync(cwd)
  const top = repositoryTop(real) ?? real
  return findForeignLink(join(real, IN_PROJECT), top, env) !== undefined
}

/**
 * All folders that may contain records of a project: runs from before it had a `forge/` folder are in
 * the user's state folder.
 */
export function recordPlaces(
  { folder, searched }: Pick<FoundProject, 'folder' | 'searched'>,
  env: Environment,
): RecordPlaces {
  const places = [recordRoot(folder, env), ...searched.map((each) => userRecordRoot(each, env))]
  const roots = [...new Set(places.filter((place) => place !== undefined))]
  return { roots, origins: new Origins(env), insideRun: env['FORKHESTRA_RUN_ID'] }
}

function userRecordRoot(cwd: string, env: Environment): string | undefined {
  const folder = stateFolder(env)
  return folder === undefined ? undefined : join(folder, nameFor(cwd))
}

/** A readable name with a hash of the path: `site-1k2j3h4g`. */
function nameFor(cwd: string): string {
  const name = basename(cwd).replaceAll(/[^\w.-]/g, '_') || 'root'
  return `${name.slice(0, 60)}-${Bun.hash.wyhash(cwd).toString(36).padStart(8, '0').slice(-8)}`
}

export function makeRecordFolder(root: string, run: string): string {
  const folder = join(root, run)
  makeRecordRoot(root)
  // Output of agents is private.
  mkdirSync(folder, { mode: 0o700 })
  return folder
}

/**
 * Until the returned function is called, `clean` removes no record of this folder. Held while something is
 * queued in a run that no process drives.
 */
export function lockRecords(root: string, patienceMs?: number): Promise<() => void> {
  makeRecordRoot(root)
  return waitForLock(join(root, '.gitignore'), patienceMs)
}

/** Creates the private folder for the records of a project. */
function makeRecordRoot(root: string): void {
  if (!root.endsWith(IN_PROJECT)) makePrivateFolder(dirname(root))
  makePrivateFolder(root)
  keepOutOfGit(root)
}
