import { mkdirSync, writeFileSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { statOf } from '../base/files.ts'

/**
 * Where the records of runs live: with the project that has a `forge/` folder, else with the user.
 * Undefined where neither is known; a relative folder is nobody's home.
 */
export function recordRoot(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (statOf(join(cwd, 'forge'))?.isDirectory()) return join(cwd, 'forge/orch/runs')
  const { XDG_STATE_HOME: state = '', HOME: home = '' } = env
  if (isAbsolute(state)) return join(state, 'forkhestra')
  return isAbsolute(home) ? join(home, '.local/state/forkhestra') : undefined
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
