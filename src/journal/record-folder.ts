import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { statOf } from '../base/files.ts'

/**
 * Where the records of runs live: with the project that has a `forge/` folder, else with the user, in
 * a folder for each project. Undefined where neither is known; a relative folder is nobody's home.
 */
export function recordRoot(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (statOf(join(cwd, 'forge'))?.isDirectory()) return join(cwd, 'forge/orch/runs')
  return userRecordRoot(cwd, env)
}

/** Where they are with the user, and were before there was a `forge/` folder. */
export function userRecordRoot(
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
  mkdirSync(root, { recursive: true })
  keepOutOfGit(root)
  // What agents say is the user's business alone.
  mkdirSync(folder, { mode: 0o700 })
  return folder
}

/** The records ignore themselves, whatever the project ignores and however an agent cleaned up. */
export function keepOutOfGit(root: string): void {
  const path = join(root, '.gitignore')
  if ((statOf(path)?.size ?? 0) === 0) writeFileSync(path, '*\n')
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
