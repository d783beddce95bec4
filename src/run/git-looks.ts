import type { GitOptions } from './git-command.ts'
import { countFiles, findPlace } from './git-marks.ts'
import { lookAtGit, PATIENCE_MS, type Look } from './progress.ts'
import { RepositoryWatch } from './repository-watch.ts'

/** In smaller repositories git is fast enough. */
const LARGE_FILES = 2000

/** To begin costs as much as some looks, and short runs take two. */
const LOOKS_BEFORE = 2

/** So often in a row it may begin anew without having been of use. */
const BEGINNINGS = 3

/** Git itself is led elsewhere by these, and whoever watches would be at the wrong place. */
const LEADING = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_COMMON_DIR']

interface Limits {
  readonly files: number
  readonly looks: number
  readonly beginnings: number
}

/** The looks of one run at a repository: in a large one, all but the first are quick. */
export class GitLooks {
  readonly #cwd: string
  readonly #env: Readonly<Record<string, string>>
  readonly #limits: Limits
  #watch: RepositoryWatch | undefined
  #looks = 0
  #beginnings = 0
  #isQuick = false
  #isGivenUp: boolean

  constructor(
    cwd: string,
    env: Readonly<Record<string, string>>,
    limits: Limits = { files: LARGE_FILES, looks: LOOKS_BEFORE, beginnings: BEGINNINGS },
  ) {
    this.#cwd = cwd
    this.#env = env
    this.#limits = limits
    this.#isGivenUp = process.platform !== 'linux' || LEADING.some((name) => name in env)
  }

  /** As `lookAtGit`. */
  async look(uncounted: readonly string[]): Promise<Look | undefined> {
    const quick = await this.#watch?.look(this.#options(), uncounted)
    this.#isQuick = quick !== undefined
    if (quick !== undefined) {
      this.#beginnings = 0
      return quick
    }
    await this.#begin()
    const full = await this.#watch?.lookFully(this.#options(), uncounted)
    if (full === undefined) this.#leave()
    this.#looks++
    return full ?? lookAtGit(this.#cwd, this.#env, uncounted)
  }

  /** Whether the last look was made by what had been noticed. */
  get isQuick(): boolean {
    return this.#isQuick
  }

  /** The last look once more, at all files: what was not noticed ends the watch. */
  async confirm(look: Look, uncounted: readonly string[]): Promise<Look | undefined> {
    const full = await lookAtGit(this.#cwd, this.#env, uncounted)
    if (full?.head !== look.head || full?.tree !== look.tree) this.close()
    return full
  }

  close(): void {
    this.#leave()
    this.#isGivenUp = true
  }

  #leave(): void {
    this.#watch?.close()
    this.#watch = undefined
  }

  async #begin(): Promise<void> {
    if (this.#isGivenUp || this.#looks < this.#limits.looks) return
    if (this.#watch?.isLost === false) return
    this.#leave()
    if (++this.#beginnings > this.#limits.beginnings) return this.close()
    const options = this.#options()
    const place = await findPlace(options)
    if (place === undefined || countFiles(place) < this.#limits.files) return this.close()
    this.#watch = await RepositoryWatch.begin(place, options)
    if (this.#watch === undefined) this.close()
  }

  #options(): GitOptions {
    return { cwd: this.#cwd, env: this.#env, deadline: performance.now() + PATIENCE_MS }
  }
}
