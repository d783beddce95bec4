import { accessSync, constants, statfsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode, errorText } from '../../base/errors.ts'
import { formatBytes, statOf } from '../../base/files.ts'
import { printable } from '../../base/terminal/printable.ts'
import { claudeFolder } from './access.ts'
import { ok, problem, warning, type Check, type CheckContext } from './check.ts'
import type { GitFolders } from './git.ts'

/** A folder that a run writes to; it may not exist yet. */
export interface Folder {
  readonly what: string
  readonly path: string
  /** Whether a run fails without it. */
  readonly isNeeded: boolean
}

export function foldersOf(
  { cwd, env, needsClaude }: CheckContext,
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
    ...(claude === undefined || !needsClaude ? [] : [folder('claude files', claude, false)]),
  ]
}

/** Whether a run may write to its folders; checked without writing. */
export function checkFolders(folders: readonly Folder[], records: string | undefined): Check {
  const refused = folders.flatMap((folder) => {
    const why = whyNotWritable(folder)
    return why === undefined ? [] : [{ ...folder, why }]
  })
  if (refused.length > 0) {
    const report = refused.some(({ isNeeded }) => isNeeded) ? problem : warning
    const lines = refused.map(({ what, path, why }) => `${what}: ${printable(path)} ${why}`)
    return report('folders', lines.join('\n'), 'Make it writable, or run as its owner.')
  }
  if (records === undefined) {
    const text = 'no place for run records; runs without a record cannot be resumed'
    return problem('folders', text, 'Create the folder forge/ in the project, or set HOME.')
  }
  const names = [...new Set(folders.map(({ what }) => what))]
  return ok('folders', `writable: ${names.join(', ')}`)
}

function whyNotWritable({ what, path }: Folder): string | undefined {
  if (what === 'temporary files' && statOf(path) === undefined) return 'does not exist'
  const existing = nearestExisting(path)
  if (!statOf(existing)?.isDirectory()) return 'is not a folder'
  try {
    accessSync(existing, constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    const code = errorCode(error)
    return code === 'EROFS' ? 'is on a read-only disk' : `is not writable by this user (${code})`
  }
}

/** The folder itself, or the one that it would be created in. */
function nearestExisting(path: string): string {
  return statOf(path) !== undefined || dirname(path) === path
    ? path
    : nearestExisting(dirname(path))
}

const MIB = 1024 ** 2
const LOW_BYTES = 1024 * MIB
const TOO_FEW_BYTES = 100 * MIB
const LOW_FILES = 10_000
const TOO_FEW_FILES = 1000

const ORDER: readonly Check['state'][] = ['problem', 'warning', 'ok']

type FreeSpace = Pick<Check, 'state' | 'text'>

/** The free space of all disks that a run writes to, the fullest first. */
export function checkDisk(folders: readonly Pick<Folder, 'what' | 'path'>[]): Check {
  const disks = Map.groupBy(folders, ({ path }) => statOf(nearestExisting(path))?.dev)
  const disksLeft = [...disks.values()]
    .map((those) => {
      const { state, text } = measure(nearestExisting(those[0]!.path))
      const names = [...new Set(those.map(({ what }) => what))]
      return { state, text: `${text} for ${names.join(', ')}` }
    })
    .toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state))
  const text = disksLeft.map((each) => each.text).join('\n')
  const state = disksLeft[0]?.state ?? 'ok'
  if (state === 'ok') return ok('disk', text)
  const report = state === 'problem' ? problem : warning
  return report('disk', text, 'Free disk space before you leave a run unattended.')
}

function measure(path: string): FreeSpace {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(path)
    // Some file systems do not count files.
    return describeFreeSpace(bavail * bsize, files > 0 ? ffree : Infinity)
  } catch (error) {
    return { state: 'warning', text: `unknown free space (${errorText(error)})` }
  }
}

export function describeFreeSpace(bytes: number, files: number): FreeSpace {
  const hasFiles = files >= LOW_FILES
  if (hasFiles && bytes >= LOW_BYTES)
    return { state: 'ok', text: `${Math.floor(bytes / LOW_BYTES)} GiB free` }
  const state = files < TOO_FEW_FILES || bytes < TOO_FEW_BYTES ? 'problem' : 'warning'
  return { state, text: `only ${formatBytes(bytes)}${hasFiles ? '' : ` and ${files} files`} free` }
}
