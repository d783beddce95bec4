import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { succeeds } from '../../base/errors.ts'
import { withoutGitPlaces } from '../../base/git.ts'
import type { Context } from '../context.ts'
import type { Git } from '../merge/integrate.ts'
import type { GitIn } from '../merge/move-branch.ts'
import { runEnvironment } from '../process/environment.ts'
import { runGit } from '../process/git.ts'

/** Checking out a large repository can take minutes. */
const LIMIT_MS = 10 * 60_000

/**
 * Our own commits are not signed, because signing may prompt for a passphrase, and do not trigger `git gc`. New
 * worktrees have no submodules that git could update.
 */
const OPTIONS = [
  'commit.gpgSign=false',
  'gc.auto=0',
  'submodule.recurse=false',
  'core.quotePath=false',
  'advice.detachedHead=false',
]

/** Who commits if git does not know the user. */
const NOBODY = {
  GIT_AUTHOR_NAME: 'forkhestra',
  GIT_AUTHOR_EMAIL: 'forkhestra@localhost',
  GIT_COMMITTER_NAME: 'forkhestra',
  GIT_COMMITTER_EMAIL: 'forkhestra@localhost',
}

/** Runs git for the branches of a run. A stop does not interrupt it: git might leave a job half done. */
export async function makeBranchGit({ plan, ports }: Context): Promise<GitIn> {
  const env = withoutGitPlaces(runEnvironment(plan.run, ports))
  const options = OPTIONS.flatMap((each) => ['-c', each])
  const git = async (cwd: string, args: readonly string[], more = {}) => {
    const limits = { ms: LIMIT_MS, force: ports.force }
    return (await runGit(cwd, [...options, ...args], { ...env, ...more }, limits)).toString()
  }
  const isKnown = await succeeds(git(plan.cwd, ['var', 'GIT_COMMITTER_IDENT']))
  return (cwd, ...args) => git(cwd, args, isKnown ? {} : NOBODY)
}

/** A worktree and its git directory. We pass both to git, because an agent may have deleted `.git`. */
export function gitOf(gitIn: GitIn, { path, gitDir }: { path: string; gitDir: string }): Git {
  return (...args) => {
    // An agent may have deleted the worktree.
    const cwd = existsSync(path) ? path : dirname(gitDir)
    return gitIn(cwd, `--git-dir=${gitDir}`, `--work-tree=${path}`, ...args)
  }
}
