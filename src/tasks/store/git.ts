import { realpathSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { findGit, SAFE_GIT, WITHOUT_FETCHING } from '../../base/git.ts'
import { repositoryTop } from '../../base/repository.ts'

const OPTIONS = [...SAFE_GIT, '-c', 'core.quotePath=false', '--literal-pathspecs']

/** What a git command that only reads says; undefined where it fails or there is no git. */
export function runGit(root: string, args: readonly string[]): string | undefined {
  const git = findGit(process.env['PATH'])
  if (git === undefined) return undefined
  const [verb = '', ...rest] = args
  const safe = verb === 'log' ? ['--no-ext-diff', '--no-textconv'] : []
  try {
    const { exitCode, stdout } = Bun.spawnSync([git, ...OPTIONS, verb, ...safe, ...rest], {
      cwd: root,
      env: { ...process.env, ...WITHOUT_FETCHING },
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
export function isTracked(path: string): boolean {
  const folder = realpathSync(dirname(path))
  // From there, so that git takes nothing on the way for a repository.
  const top = repositoryTop(folder)
  if (top === undefined) return true
  return runGit(top, ['ls-files', '--', relative(top, join(folder, basename(path)))]) !== ''
}
