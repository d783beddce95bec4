import { realpathSync } from 'node:fs'
import { relative } from 'node:path'
import { counted } from '../base/amounts.ts'
import type { Environment } from '../base/environment.ts'
import { UserError, type Problem } from '../base/errors.ts'
import { branchIn, CHECKED_OUT, findGit } from '../base/git.ts'
import { isBareRepository } from '../base/repository.ts'
import { shellWord } from '../base/shell-quote.ts'
import { printable } from '../base/terminal/printable.ts'
import { askGitSync } from '../base/tracked.ts'
import { hasWorktrees } from '../chain/plan/branches.ts'
import type { Plan } from '../chain/plan/plan.ts'
import { findTaskFolders } from '../tasks/folders.ts'
import { findOperation } from '../base/git-operations.ts'

/**
 * Refuses a run with worktrees if the repository does not support them, or has uncommitted changes, which
 * worktrees would lack. Task files are the exception, because the run commits them.
 */
export function checkBranchRepository(plan: Plan, env: Environment): void {
  if (!hasWorktrees(plan)) return
  const quiet = { ...env, GIT_OPTIONAL_LOCKS: '0', LC_ALL: 'C' }
  const problem = findProblem(plan.cwd, quiet)
  if (problem !== undefined) throw new UserError(problem.message, problem.hint)
}

/** The git branch that is checked out; undefined if there is none. */
export function currentBranch(cwd: string, env: Environment): string | undefined {
  const answer = askGitSync(cwd, CHECKED_OUT, env)
  return answer === undefined ? undefined : branchIn(answer)
}

const LISTED = ['--no-renames', '--untracked-files=all', '--ignore-submodules=dirty']
const STATUS = ['status', '--porcelain=v2', '--branch', '--no-ahead-behind', '-z', ...LISTED]

function findProblem(cwd: string, env: Environment): Problem | undefined {
  if (findGit(env['PATH']) === undefined)
    return { message: 'Worktrees need git, which is not on PATH.', hint: 'Install git.' }
  const old = tooOld(cwd, env)
  if (old !== undefined) return old
  if (isBareRepository(cwd)) return bare(cwd)
  const places = askGitSync(cwd, ['rev-parse', '--is-inside-work-tree', '--absolute-git-dir'], env)
  const [isInside, own = ''] = places?.trim().split('\n') ?? []
  if (isInside === 'false') return bare(cwd)
  const top = askGitSync(cwd, ['rev-parse', '--show-toplevel'], env)?.replace(/\n$/, '')
  const status = top === undefined ? undefined : askGitSync(top, STATUS, env)
  if (top === undefined || status === undefined)
    return { message: `git cannot read the repository of ${cwd}.`, hint: 'See why: git status' }
  const records = status.split('\0')
  if (records.includes('# branch.oid (initial)')) return NO_COMMIT
  const operation = findOperation(own)
  if (operation !== undefined)
    return { message: `The repository has ${operation.what} in progress.`, hint: operation.next }
  if (records.includes('# branch.head (detached)')) return DETACHED
  const taken = ['show-ref', '--verify', '--quiet', 'refs/heads/forkhestra']
  if (askGitSync(top, taken, env) !== undefined) return TAKEN
  const { tasks } = findTaskFolders(cwd, env)
  const inTop = relative(top, tasks)
  return (
    describeChanges(changedIn(records, inTop)) ??
    uncommitted(cwd, top, env) ??
    ignoredTasks(inTop, top, env)
  )
}

/** The first version that can list worktrees with any path. */
const OLDEST = [2, 36] as const

function tooOld(cwd: string, env: Environment): Problem | undefined {
  const version = /\d+\.\d+\S*/.exec(askGitSync(cwd, ['version'], env) ?? '')?.[0]
  const [major = 0, minor = 0] = version?.split('.').map(Number) ?? []
  if (version === undefined || major > OLDEST[0]) return undefined
  if (major === OLDEST[0] && minor >= OLDEST[1]) return undefined
  const message = `Worktrees need git ${OLDEST.join('.')} or newer; this is git ${printable(version)}.`
  return {
    message,
    hint: 'Update git, or let all branches work in one folder: "isolation": "shared"',
  }
}

function bare(cwd: string): Problem {
  return {
    message: `${cwd} is in a bare repository, but branches are merged into a working tree.`,
    hint: 'Clone it, and run in the clone: git clone REPOSITORY FOLDER',
  }
}

const NO_COMMIT: Problem = {
  message: 'The repository has no commits, so worktrees have nothing to start from.',
  hint: 'Create one: git add -A && git commit -m "Start"',
}

const DETACHED: Problem = {
  message: 'HEAD is detached, so there is no branch to merge into.',
  hint: 'Switch to a branch: git switch NAME, or to a new one: git switch -c NAME',
}

const TAKEN: Problem = {
  message: "A branch is called 'forkhestra', so git cannot create branches called forkhestra/….",
  hint: 'Rename it: git branch -m forkhestra NAME',
}

/** The paths in the output of git status, without those of the task files. */
function changedIn(records: readonly string[], tasks: string): string[] {
  return records.flatMap((record) => {
    const [, path] = /^(?:1(?: \S+){7}|u(?: \S+){9}|\?) (.*)$/s.exec(record) ?? []
    return path === undefined || path.startsWith(`${tasks}/`) ? [] : [path]
  })
}

const NAMED_AT_MOST = 5

function describeChanges(paths: readonly string[]): Problem | undefined {
  if (paths.length === 0) return undefined
  const named = paths.slice(0, NAMED_AT_MOST).map(printable).join(', ')
  const more = paths.length - NAMED_AT_MOST
  const rest = more > 0 ? ` and ${counted(more, 'more file')}` : ''
  return {
    message: `Worktrees start from the last commit, but some changes are not committed: ${named}${rest}.`,
    hint: 'Commit them: git add -A && git commit\nOr stash them: git stash --include-untracked',
  }
}

/** Refuses a project folder that is not in the last commit, for example because it is ignored. */
function uncommitted(cwd: string, top: string, env: Environment): Problem | undefined {
  const inside = relative(top, realpathSync(cwd))
  if (inside === '' || askGitSync(top, ['cat-file', '-e', `HEAD:${inside}`], env) !== undefined)
    return undefined
  return {
    message: `The folder ${printable(inside)} is not in the last commit, so worktrees would not have it.`,
    hint: 'Commit a file in it, or start in another folder.',
  }
}

function ignoredTasks(tasks: string, top: string, env: Environment): Problem | undefined {
  const ignored = ['ls-files', '--others', '--ignored', '--exclude-standard', '-z', '--', tasks]
  const names = askGitSync(top, ignored, env)?.split('\0') ?? []
  const file = names.find((name) => name.endsWith('.md'))
  if (file === undefined) return undefined
  return {
    message: `git ignores ${printable(file)}, so worktrees would not have this task.`,
    hint: `See why: git check-ignore -v ${shellWord(file)}`,
  }
}
