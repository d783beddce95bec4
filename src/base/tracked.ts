import { realpathSync } from 'node:fs'
import { basename, dirname, join, relative, sep } from 'node:path'
import { lstatOf } from './files.ts'
import { findGit, SAFE_GIT, WITHOUT_FETCHING } from './git.ts'
import { repositoryTop } from './repository.ts'

type Environment = Readonly<Record<string, string | undefined>>

const OPTIONS = [...SAFE_GIT, '-c', 'core.quotePath=false', '--literal-pathspecs']

/** What a git command that only reads says; undefined where it fails or there is no git. */
export function askGit(cwd: string, args: readonly string[], env: Environment): string | undefined {
  const git = findGit(env['PATH'])
  if (git === undefined) return undefined
  const [verb = '', ...rest] = args
  const safe = verb === 'log' ? ['--no-ext-diff', '--no-textconv'] : []
  try {
    const { exitCode, stdout } = Bun.spawnSync([git, ...OPTIONS, verb, ...safe, ...rest], {
      cwd,
      env: { ...env, ...WITHOUT_FETCHING },
      stdin: 'ignore',
      stderr: 'ignore',
      timeout: 10_000,
    })
    return exitCode === 0 ? stdout.toString() : undefined
  } catch {
    return undefined
  }
}

/** Whether a file or link is part of the repository in which it lies; where git cannot say it, it may be. */
export function isTracked(path: string, env: Environment): boolean {
  const folder = realpathSync(dirname(path))
  // From there, so that git takes nothing on the way for a repository.
  const top = repositoryTop(folder)
  if (top === undefined) return true
  return askGit(top, ['ls-files', '--', relative(top, join(folder, basename(path)))], env) !== ''
}

/**
 * The link that leads out of the project, or into its git folder, on the way to a path. Whoever publishes a
 * repository decides where its links lead, so only a link that git does not track is the user's own.
 */
export function findForeignLink(path: string, top: string, env: Environment): string | undefined {
  if (staysInside(path, top)) return undefined
  const link = firstLink(path, top)
  return link === undefined || isTracked(link, env) ? (link ?? path) : undefined
}

function staysInside(path: string, top: string): boolean {
  const way = relative(top, realPath(path)).split(sep)
  return way[0] !== '..' && !way.includes('.git')
}

/** Of what is not there yet, the folder in which it will be. */
function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    // A link that leads nowhere is still a link.
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
