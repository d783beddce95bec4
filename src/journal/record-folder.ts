import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { statOf } from '../base/files.ts'
import { makePrivateFolder } from '../base/private-folder.ts'
import type { FoundProject } from '../base/project.ts'

const IN_PROJECT = 'forge/orch/runs'

/**
 * Where the records of runs live: with the project that has a `forge/` folder, else with the user, in
 * a folder for each project. Undefined where neither is known; a relative folder is nobody's home.
 */
export function recordRoot(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (statOf(join(cwd, 'forge'))?.isDirectory()) return join(cwd, IN_PROJECT)
  return userRecordRoot(cwd, env)
}

/**
 * All places where a project may have records, that of new ones first: runs from before it had a
 * `forge/` folder are still with the user, by the folder in which they were started.
 */
export function recordRoots(
  { folder, searched }: Pick<FoundProject, 'folder' | 'searched'>,
  env: Readonly<Record<string, string | undefined>>,
): string[] {
  const places = [recordRoot(folder, env), ...searched.map((each) => userRecordRoot(each, env))]
  return [...new Set(places.filter((place) => place !== undefined))]
}

function userRecordRoot(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const { XDG_STATE_HOME: state = '', HOME: home = '' } = env
  if (isAbsolute(state)) return join(state, 'forkhestra', nameFor(cwd))
  return isAbsolute(home) ? join(home, '.local/state/forkhestra', nameFor(cwd)) : undefined
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

/** The records ignore themselves, whatever the project ignores and however an agent cleaned up. */
export function keepOutOfGit(root: string): void {
  const path = join(root, '.gitignore')
  if ((statOf(path)?.size ?? 0) === 0) writeFileSync(path, '*\n', { mode: 0o600 })
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
