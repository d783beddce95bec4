import { existsSync, rmdirSync, rmSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { firstOf } from '../base/first-of.ts'
import type { Worktree } from '../events/schema.ts'
import type { Ports } from './ports.ts'
import { GitStopped, runGit, soonAfter, type Patience } from './worktree-git.ts'
import { asRefusal, gitDirOf, planSite, type Wanted } from './worktree-plan.ts'
import { commitsOf, hasUncommitted, type Place } from './worktree-state.ts'
import { unjudgedWords, wordsFor } from './worktree-words.ts'

/** A large repository takes its time to be checked out. */
const MAKE_MS = 10 * 60_000
const LOOK_MS = 60_000
/** What a look may still take when the run was told to stop. */
const LAST_LOOK_MS = 5000

/** A git worktree of its own for one attempt of a task, beside the project. */
export interface Site extends Place {
  /** Where the agent works: the same place in it as the working directory in the project. */
  readonly cwd: string
}

/** What has become of a worktree, and what is to be said about it. */
export interface Left {
  readonly worktree: Worktree
  readonly words: string
}

/** Makes worktrees one after the other, and removes those in which nothing was done. */
export class Worktrees {
  readonly #env: Readonly<Record<string, string>>
  readonly #ports: Pick<Ports, 'stop' | 'force'>
  #last: Promise<unknown> = Promise.resolve()

  /** `env` is that of the run: what git starts is recognised by it. */
  constructor(env: Readonly<Record<string, string>>, ports: Pick<Ports, 'stop' | 'force'>) {
    const { GIT_DIR: _dir, GIT_WORK_TREE: _tree, GIT_INDEX_FILE: _index, ...rest } = env
    this.#env = rest
    this.#ports = ports
  }

  /** Fails with `GitStopped` where it is not wanted any more. */
  async make(wanted: Wanted, stop: AbortSignal): Promise<Site> {
    let hasBegun = false
    const made = this.#afterAll(() => {
      hasBegun = true
      return this.#make(wanted, { stop, force: this.#ports.force, ms: MAKE_MS })
    })
    await firstOf({ made, stop })
    // When its turn comes, it sees that by itself.
    if (stop.aborted && !hasBegun) throw new GitStopped('git was not started any more')
    return made
  }

  /** What has become of it: it stays where there is anything in it that is nowhere else. */
  finish(site: Site): Promise<Left> {
    return this.#afterAll(() => this.#finish(site))
  }

  async #make(wanted: Wanted, patience: Patience): Promise<Site> {
    const ask = (cwd: string, ...args: string[]) => runGit(cwd, args, this.#env, patience)
    const { top, base, inside, path, branch } = await planSite(wanted, ask)
    try {
      await ask(top, 'worktree', 'add', '--quiet', '-b', branch, path, base)
      return { path, branch, base, gitDir: gitDirOf(path), cwd: join(path, inside) }
    } catch (error) {
      await this.#discard(top, path, branch, base)
      throw asRefusal(error, (why) => [`: git could not make a worktree: ${why}`])
    }
  }

  /** What git has left of a worktree that nobody has worked in. */
  async #discard(top: string, path: string, branch: string, base: string): Promise<void> {
    const { force } = this.#ports
    const last = { stop: force, force, ms: LAST_LOOK_MS }
    const undo = (...args: string[]) => runGit(top, args, this.#env, last).catch(() => '')
    if (existsSync(path)) await undo('worktree', 'remove', '--force', '--force', path)
    rmSync(path, { recursive: true, force: true })
    // Only where it is the one that was just made.
    await undo('update-ref', '-d', `refs/heads/${branch}`, base)
    removeIfEmpty(dirname(path))
  }

  async #finish(site: Site): Promise<Left> {
    const { path, branch } = site
    const { stop, release } = soonAfter(this.#ports.stop, LAST_LOOK_MS)
    try {
      return await this.#judge(site, { stop, force: this.#ports.force, ms: LOOK_MS })
    } catch {
      // Whatever cannot be judged stays.
      return { worktree: { path, branch, isKept: existsSync(path) }, words: unjudgedWords(site) }
    } finally {
      release()
    }
  }

  async #judge(site: Site, patience: Patience): Promise<Left> {
    const { path, branch, gitDir } = site
    const isThere = existsSync(path)
    // Never by the folder itself: its agent may have made another repository of it.
    const common = resolve(gitDir, '../..')
    const git = (...args: string[]) =>
      runGit(common, [`--git-dir=${common}`, ...args], this.#env, patience)
    const own = [`--git-dir=${gitDir}`, `--work-tree=${path}`]
    const ask = (...args: string[]) =>
      runGit(isThere ? path : common, [...own, ...args], this.#env, patience)
    const isDirty = isThere && (await hasUncommitted(site, ask))
    const tip = await git('for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`)
    const commits = await commitsOf(site, existsSync(gitDir) ? ask : git)
    const words = wordsFor(site, { ...commits, isDirty, isThere })
    if (isDirty || commits.isOnBranch || commits.loose.length > 0) {
      return { worktree: { path, branch, isKept: isThere }, words }
    }
    // Refused where anything is in it after all.
    if (existsSync(gitDir)) await git('worktree', 'remove', path)
    // As it was judged: what has come to it since is not taken away.
    if (tip !== '') await git('update-ref', '-d', `refs/heads/${branch}`, tip.trim())
    removeIfEmpty(dirname(path))
    return { worktree: { path, branch, isKept: false }, words }
  }

  #afterAll<Result>(work: () => Promise<Result>): Promise<Result> {
    const next = this.#last.then(work, work)
    this.#last = next.catch(() => undefined)
    return next
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // Others are still in it.
  }
}
