import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { statOf } from '../base/files.ts'

/** Where the records of runs live: with the project that has a `forge/` folder, else with the user. */
export function recordRoot(cwd: string, env: Readonly<Record<string, string | undefined>>): string {
  if (statOf(join(cwd, 'forge'))?.isDirectory()) return join(cwd, 'forge/orch/runs')
  const state = env['XDG_STATE_HOME'] || join(env['HOME'] || '/', '.local/state')
  return join(state, 'forkhestra')
}

/** Makes the folder of one run. Its parent keeps itself out of git, whatever the project ignores. */
export function makeRecordFolder(root: string, run: string): string {
  const folder = join(root, run)
  // What agents say is the user's business alone.
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  try {
    writeFileSync(join(root, '.gitignore'), '*\n', { flag: 'wx' })
  } catch {
    // It is there already.
  }
  return folder
}
