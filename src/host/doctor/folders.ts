import { accessSync, constants } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { printable } from '../../base/terminal/printable.ts'
import { ok, problem, warning, type Check, type Place } from './check.ts'
import { claudeFolder } from './claude-files.ts'
import type { GitFolders } from './git-folder.ts'

/** A folder that a run writes to; it may not be there yet. */
export interface Folder {
  readonly what: string
  readonly path: string
  /** Whether a run comes to nothing, or to little, without it. */
  readonly isNeeded: boolean
}

export function foldersOf(
  { cwd, env, needsClaude }: Place,
  records: string | undefined,
  git: GitFolders | undefined,
): Folder[] {
  const claude = claudeFolder(env)
  const folder = (what: string, path: string, isNeeded = true) => ({ what, path, isNeeded })
  return [
    folder('project', cwd),
    ...(git === undefined
      ? []
      : [folder('git', git.own), folder('git', join(git.common, 'objects'))]),
    ...(statOf(join(cwd, 'forge/tasks')) ? [folder('tasks', join(cwd, 'forge/tasks'))] : []),
    ...(records === undefined ? [] : [folder('records', records)]),
    folder('temporary files', env['TMPDIR'] || '/tmp'),
    ...(claude === undefined || !needsClaude ? [] : [folder('files of claude', claude, false)]),
  ]
}

/** Whether a run may write where it has to. Nothing is written to find out. */
export function checkFolders(folders: readonly Folder[], records: string | undefined): Check {
  const refused = folders.flatMap((folder) => {
    const why = whyNot(folder)
    return why === undefined ? [] : [{ ...folder, why }]
  })
  if (refused.length > 0) {
    const report = refused.some(({ isNeeded }) => isNeeded) ? problem : warning
    const lines = refused.map(({ what, path, why }) => `${what}: ${printable(path)} ${why}`)
    const next = 'Make it writable, or run as its owner.'
    return report('folders', lines.join('\n'), next)
  }
  if (records === undefined) {
    const text = 'no place for run records; runs without a record cannot be resumed'
    return problem('folders', text, 'Create the folder forge/ in the project, or set HOME.')
  }
  const names = [...new Set(folders.map(({ what }) => what))]
  return ok('folders', `can be written: ${names.join(', ')}`)
}

function whyNot({ what, path }: Folder): string | undefined {
  if (what === 'temporary files' && statOf(path) === undefined) return 'does not exist'
  const there = nearestThere(path)
  if (!statOf(there)?.isDirectory()) return 'is no folder'
  try {
    accessSync(there, constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    const code = errorCode(error)
    return code === 'EROFS'
      ? 'is on a disk that is read-only'
      : `cannot be written by this user (${code})`
  }
}

/** The folder itself, or the one that it would be made in. */
export function nearestThere(path: string): string {
  return statOf(path) !== undefined || dirname(path) === path ? path : nearestThere(dirname(path))
}
