import { realpathSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { lstatOf } from './files.ts'
import { findGit, SAFE_GIT, withoutGitPlaces, WITHOUT_FETCHING } from './git.ts'
import { repositoryTop } from './repository.ts'
import type { Environment } from './environment.ts'

const OPTIONS = [...SAFE_GIT, '-c', 'core.quotePath=false', '--literal-pathspecs']

/** The output of a read-only git command in the repository of `cwd`; undefined if it fails or git is not installed. */
export function askGitSync(
  cwd: string,
  args: readonly string[],
  env: Environment,
): string | undefined {
  const git = findGit(env['PATH'])
  if (git === undefined) return undefined
  const [command = '', ...rest] = args
  const safe = command === 'log' ? ['--no-ext-diff', '--no-textconv'] : []
  try {
    const { exitCode, stdout } = Bun.spawnSync([git, ...OPTIONS, command, ...safe, ...rest], {
      cwd,
      env: { ...withoutGitPlaces(env), ...WITHOUT_FETCHING },
      stdin: 'ignore',
      stderr: 'ignore',
      timeout: 10_000,
    })
    return exitCode === 0 ? stdout.toString() : undefined
  } catch {
    return undefined
  }
}

/** Whether git tracks a file or link; true if git cannot tell. */
export function isTracked(path: string, env: Environment): boolean {
  const folder = realpathSync(dirname(path))
  // Run at the top, so that git does not take a folder below it for a repository.
  const top = repositoryTop(folder)
  if (top === undefined) return true
  return (
    askGitSync(top, ['ls-files', '--', relative(top, join(folder, basename(path)))], env) !== ''
  )
}

/**
 * The first link on a path that leads out of the project or into its git folder. The author of a
 * repository decides where its tracked links lead, so only an untracked link is the user's own.
 */
export function findForeignLink(path: string, top: string, env: Environment): string | undefined {
  if (staysInside(path, top)) return undefined
  const link = firstLink(path, top)
  return link === undefined || isTracked(link, env) ? (link ?? path) : undefined
}

function staysInside(path: string, top: string): boolean {
  const parts = relative(top, realPath(path)).split(sep)
  return parts[0] !== '..' && !parts.includes('.git')
}

/** The real path; for a file that does not exist yet, a path in its real folder. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // A broken link counts as leading outside.
    if (isLink(path)) return '/'
    return path === dirname(path) ? path : join(realPath(dirname(path)), 'new')
  }
}

function firstLink(path: string, top: string): string | undefined {
  let at = top
  for (const name of relative(top, path).split(sep)) {
    at = join(at, name)
    if (isLink(at)) return at
  }
  return undefined
}

export function isLink(path: string): boolean {
  return lstatOf(path)?.isSymbolicLink() === true
}
