import { existsSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { removeIfEmpty } from '../../base/files.ts'
import { afterAwake } from '../../base/awake.ts'
import { errorText } from '../../base/errors.ts'
import { firstCause } from '../../base/first-cause.ts'
import { withoutGitPlaces } from '../../base/git.ts'
import type { Worktree } from '../../records/events/schema.ts'
import type { Ports } from '../ports.ts'
import { runGit, StopError, type GitLimits } from '../process/git.ts'
import {
  currentPath,
  toUserError,
  addWorktree,
  gitDirOf,
  planWorktree,
  type WorktreeRequest,
} from './worktree-plan.ts'
import {
  commitsOf,
  freshIndex,
  hasUncommitted,
  type Commits,
  type WorktreeLocation,
} from './worktree-state.ts'

/** Overrides the configuration of user and repository, so that no work is overlooked. */
const THOROUGH = [
  'status.showUntrackedFiles=all',
  'status.relativePaths=false',
  'core.ignoreCase=false',
  'core.ignoreStat=false',
  'core.untrackedCache=false',
  // git continues an existing reflog even if it is configured not to create any.
  'core.logAllRefUpdates=true',
].flatMap((each) => ['-c', each])

/** Checking out a large repository can take minutes. */
const MAKE_MS = 10 * 60_000
const INSPECT_MS = 60_000
/** How long an inspection may take once the run is stopped. */
const LAST_CHECK_MS = 5000

/** A git worktree for one attempt of a task, in a folder next to the project. */
export interface TaskWorktree extends WorktreeLocation {
  /** The agent's working directory: corresponds to that in the project. */
  readonly cwd: string
}

/** What happened to a worktree, for events and for the task's result. */
export interface FinishedWorktree {
  readonly worktree: Worktree
  readonly description: string
}

/** Creates worktrees one at a time, and removes unused ones. */
export class Worktrees {
  readonly #env: Readonly<Record<string, string>>
  readonly #ports: Pick<Ports, 'stop' | 'force'>
  #last: Promise<unknown> = Promise.resolve()

  /** `env` is that of the run, so that processes started by git can be found. */
  constructor(env: Readonly<Record<string, string>>, ports: Pick<Ports, 'stop' | 'force'>) {
    this.#env = withoutGitPlaces(env)
    this.#ports = ports
  }

  /** Throws `StopError` if `stop` aborts. */
  async make(wanted: WorktreeRequest, stop: AbortSignal): Promise<TaskWorktree> {
    let hasBegun = false
    const made = this.#inTurn(() => {
      hasBegun = true
      return this.#make(wanted, { stop, force: this.#ports.force, ms: MAKE_MS })
    })
    await firstCause({ made, stop })
    if (stop.aborted && !hasBegun) throw new StopError('stopped before git was started')
    return made
  }

  /** Keeps the worktree if it contains work that exists nowhere else. */
  finish(worktree: TaskWorktree): Promise<FinishedWorktree> {
    return this.#inTurn(() => this.#finish(worktree))
  }

  async #make(wanted: WorktreeRequest, limits: GitLimits): Promise<TaskWorktree> {
    const ask = (cwd: string, ...args: string[]) => this.#git(cwd, args, limits)
    const { top, base, inside, path, branch } = await planWorktree(wanted, ask)
    try {
      await addWorktree(ask, top, { path, branch, base })
      return { path, branch, base, gitDir: gitDirOf(path), cwd: join(path, inside) }
    } catch (error) {
      await this.#discard(top, path, branch, base)
      throw toUserError(error, `: git could not create a worktree: ${errorText(error)}`)
    }
  }

  /** Removes git's leftovers of a worktree that was never used. */
  async #discard(top: string, path: string, branch: string, base: string): Promise<void> {
    const { force } = this.#ports
    const last = { stop: force, force, ms: LAST_CHECK_MS }
    const undo = (...args: string[]) => this.#git(top, args, last).catch(() => '')
    if (existsSync(path)) await undo('worktree', 'remove', '--force', '--force', path)
    rmSync(path, { recursive: true, force: true })
    // Only if the branch has not moved since it was created.
    await undo('update-ref', '-d', `refs/heads/${branch}`, base)
    removeIfEmpty(dirname(path))
  }

  async #finish(made: TaskWorktree): Promise<FinishedWorktree> {
    const worktree = { ...made, path: currentPath(made.path, made.gitDir) }
    const { path, branch } = worktree
    const late = new AbortController()
    let cancel: (() => void) | undefined
    const begin = () => (cancel = afterAwake(LAST_CHECK_MS, () => late.abort()))
    const { stop, force } = this.#ports
    if (stop.aborted) begin()
    else stop.addEventListener('abort', begin)
    try {
      return await this.#inspect(worktree, { stop: late.signal, force, ms: INSPECT_MS })
    } catch {
      // Keep what cannot be inspected.
      return {
        worktree: { path, branch, isKept: existsSync(path) },
        description: describeUnchecked(worktree),
      }
    } finally {
      cancel?.()
      stop.removeEventListener('abort', begin)
    }
  }

  async #inspect(worktree: TaskWorktree, limits: GitLimits): Promise<FinishedWorktree> {
    const { path, branch, gitDir } = worktree
    const exists = existsSync(path)
    // Not looked up through the folder: the agent may have turned it into another repository.
    const common = resolve(gitDir, '../..')
    const git = (...args: string[]) => this.#git(common, [`--git-dir=${common}`, ...args], limits)
    const own = [`--git-dir=${gitDir}`, `--work-tree=${path}`]
    const askWith =
      (env: Readonly<Record<string, string>>) =>
      (...args: string[]) =>
        this.#git(exists ? path : common, [...own, ...args], limits, env)
    const ask = askWith({})
    const isDirty = exists && (await hasUncommitted(worktree, ask, askWith(freshIndex(worktree))))
    const tip = await git('for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`)
    const commits = await commitsOf(worktree, existsSync(gitDir) ? ask : git)
    const description = describeKept(worktree, { ...commits, isDirty, exists })
    if (isDirty || commits.isOnBranch || commits.isUncertain || commits.dangling.length > 0) {
      return { worktree: { path, branch, isKept: exists }, description }
    }
    // git refuses if there are changes.
    if (existsSync(gitDir)) await git('worktree', 'remove', path)
    // Only if the branch has not moved since it was inspected.
    if (tip !== '') await git('update-ref', '-d', `refs/heads/${branch}`, tip.trim())
    removeIfEmpty(dirname(path))
    return { worktree: { path, branch, isKept: false }, description }
  }

  async #git(cwd: string, args: readonly string[], limits: GitLimits, env = {}): Promise<string> {
    const output = await runGit(cwd, [...THOROUGH, ...args], { ...this.#env, ...env }, limits)
    return output.toString()
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const next = this.#last.then(work, work)
    this.#last = next.catch(() => undefined)
    return next
  }
}

interface Found extends Commits {
  /** Whether the folder has uncommitted changes. */
  readonly isDirty: boolean
  readonly exists: boolean
}

type Where = Pick<Worktree, 'path' | 'branch'>

/** Maximum number of commits to name. */
const MOST_NAMED = 5

/** Where the work is, and what merging the branch would miss; empty if there is no work. */
function describeKept({ path, branch }: Where, found: Found): string {
  const { isOnBranch, dangling, isUncertain, elsewhere, isDirty, exists } = found
  const ids = dangling.slice(0, MOST_NAMED).map((commit) => commit.slice(0, 12))
  const named = [...ids, ...(dangling.length > MOST_NAMED ? ['…'] : [])].join(', ')
  const rest = [
    ...(dangling.length === 0 ? [] : [`commits on no branch (${named})`]),
    ...(isUncertain ? ['possibly commits on no branch (the reflog is incomplete)'] : []),
    ...(isDirty ? ['uncommitted changes'] : []),
  ].join(' and ')
  const place = exists ? `, in ${path}` : ''
  const lines = [
    ...(isOnBranch ? [`The work is on branch ${branch}${place}`] : []),
    ...(elsewhere === undefined ? [] : [`The commits are on branch ${elsewhere}`]),
    ...(rest === '' ? [] : [`Not on branch ${branch}: ${rest}${place}`]),
  ]
  return lines.map((line) => `[forkhestra] ${line}`).join('\n')
}

/** For a worktree that could not be inspected. */
export function describeUnchecked({ path, branch }: Where): string {
  return `[forkhestra] The work is in ${path} (branch ${branch}); run git status there to see uncommitted changes`
}
