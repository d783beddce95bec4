import { existsSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { firstCause } from '../../base/first-cause.ts'
import type { Worktree } from '../../records/events/schema.ts'
import type { Ports } from '../chain/ports.ts'
import { StopError, runGit, abortAfter, type GitLimits } from './worktree-git.ts'
import { asRefusal, gitDirOf, planWorktree, type WorktreeRequest } from './worktree-plan.ts'
import { commitsOf, freshIndex, hasUncommitted, type WorktreeLocation } from './worktree-state.ts'
import { describeUnchecked, describeKept } from './describe-worktree.ts'

/** Checking out a large repository takes long. */
const MAKE_MS = 10 * 60_000
const LOOK_MS = 60_000
/** How long an inspection may take after the run was stopped. */
const LAST_LOOK_MS = 5000

/** A git worktree for one attempt of a task, in a folder next to the project. */
export interface TaskWorktree extends WorktreeLocation {
  /** The agent's working directory: corresponds to that in the project. */
  readonly cwd: string
}

/** What became of a worktree, for events and for the task's result. */
export interface FinishedWorktree {
  readonly worktree: Worktree
  readonly description: string
}

/** Makes worktrees one at a time, and removes those in which nothing was done. */
export class Worktrees {
  readonly #env: Readonly<Record<string, string>>
  readonly #ports: Pick<Ports, 'stop' | 'force'>
  #last: Promise<unknown> = Promise.resolve()

  /** `env` is that of the run: by it, processes that git starts are found. */
  constructor(env: Readonly<Record<string, string>>, ports: Pick<Ports, 'stop' | 'force'>) {
    const { GIT_DIR: _dir, GIT_WORK_TREE: _tree, GIT_INDEX_FILE: _index, ...rest } = env
    this.#env = rest
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

  /** Keeps the worktree if it has anything that is nowhere else. */
  finish(worktree: TaskWorktree): Promise<FinishedWorktree> {
    return this.#inTurn(() => this.#finish(worktree))
  }

  async #make(wanted: WorktreeRequest, patience: GitLimits): Promise<TaskWorktree> {
    const ask = (cwd: string, ...args: string[]) => runGit(cwd, args, this.#env, patience)
    const { top, base, inside, path, branch } = await planWorktree(wanted, ask)
    try {
      await ask(top, 'worktree', 'add', '--quiet', '-b', branch, path, base)
      return { path, branch, base, gitDir: gitDirOf(path), cwd: join(path, inside) }
    } catch (error) {
      await this.#discard(top, path, branch, base)
      throw asRefusal(error, (why) => [`: git could not make a worktree: ${why}`])
    }
  }

  /** Removes what git has left of a worktree that was never used. */
  async #discard(top: string, path: string, branch: string, base: string): Promise<void> {
    const { force } = this.#ports
    const last = { stop: force, force, ms: LAST_LOOK_MS }
    const undo = (...args: string[]) => runGit(top, args, this.#env, last).catch(() => '')
    if (existsSync(path)) await undo('worktree', 'remove', '--force', '--force', path)
    rmSync(path, { recursive: true, force: true })
    // Only if the branch is still as it was made.
    await undo('update-ref', '-d', `refs/heads/${branch}`, base)
    removeIfEmpty(dirname(path))
  }

  async #finish(worktree: TaskWorktree): Promise<FinishedWorktree> {
    const { path, branch } = worktree
    const { stop, release } = abortAfter(this.#ports.stop, LAST_LOOK_MS)
    try {
      return await this.#inspect(worktree, { stop, force: this.#ports.force, ms: LOOK_MS })
    } catch {
      // Keep what cannot be inspected.
      return {
        worktree: { path, branch, isKept: existsSync(path) },
        description: describeUnchecked(worktree),
      }
    } finally {
      release()
    }
  }

  async #inspect(worktree: TaskWorktree, patience: GitLimits): Promise<FinishedWorktree> {
    const { path, branch, gitDir } = worktree
    const isThere = existsSync(path)
    // Not found through the folder: the agent may have made another repository of it.
    const common = resolve(gitDir, '../..')
    const git = (...args: string[]) =>
      runGit(common, [`--git-dir=${common}`, ...args], this.#env, patience)
    const own = [`--git-dir=${gitDir}`, `--work-tree=${path}`]
    const askWith =
      (env: Readonly<Record<string, string>>) =>
      (...args: string[]) =>
        runGit(isThere ? path : common, [...own, ...args], { ...this.#env, ...env }, patience)
    const ask = askWith({})
    const isDirty = isThere && (await hasUncommitted(worktree, ask, askWith(freshIndex(worktree))))
    const tip = await git('for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`)
    const commits = await commitsOf(worktree, existsSync(gitDir) ? ask : git)
    const description = describeKept(worktree, { ...commits, isDirty, isThere })
    if (isDirty || commits.isOnBranch || commits.isUncertain || commits.dangling.length > 0) {
      return { worktree: { path, branch, isKept: isThere }, description }
    }
    // git refuses if there are changes after all.
    if (existsSync(gitDir)) await git('worktree', 'remove', path)
    // Only if the branch has not moved since it was inspected.
    if (tip !== '') await git('update-ref', '-d', `refs/heads/${branch}`, tip.trim())
    removeIfEmpty(dirname(path))
    return { worktree: { path, branch, isKept: false }, description }
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const next = this.#last.then(work, work)
    this.#last = next.catch(() => undefined)
    return next
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // Other worktrees are still in it.
  }
}
