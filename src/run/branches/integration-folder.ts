import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { UserError } from '../../base/errors.ts'
import type { BranchPlan, StepNode } from '../../chain/plan/plan.ts'
import type { Context } from '../context.ts'
import type { TargetBranch } from '../merge/target-branch.ts'
import type { IntegrationTree } from '../merge/integrate.ts'
import type { GitIn } from '../merge/move-branch.ts'
import { runCommand } from '../policy/command.ts'
import { StopError } from '../process/git.ts'
import { gitOf } from './branch-git.ts'
import { copyInto, discardWorktree, makeWorktree, markReady, type Site } from './branch-worktree.ts'

/** What the checks need to know about a branch that is handed in. */
export interface Submitter {
  readonly step: StepNode
  readonly plan: BranchPlan
}

/** The run's worktree for preparing and testing merges; created on first use. */
export class IntegrationFolder {
  readonly site: Site
  readonly gitIn: GitIn
  /** The git directory that all worktrees share. */
  readonly commonDir: string
  readonly #path: string
  readonly #context: Context
  #opening: Promise<IntegrationTree> | undefined
  /** Setup commands that have already run in it. */
  readonly #setUp = new Set<string>()

  constructor(context: Context, site: Site, path: string, commonDir: string, gitIn: GitIn) {
    this.#context = context
    this.site = site
    this.#path = path
    this.commonDir = commonDir
    this.gitIn = gitIn
  }

  /** `target` gives the commit to start from. */
  async open(target: TargetBranch): Promise<IntegrationTree> {
    const known = await this.#opening
    // An agent may have cleaned up what it considered leftovers.
    if (known !== undefined && [known.path, known.gitDir].every((each) => existsSync(each)))
      return known
    this.#setUp.clear()
    this.#opening = this.#make(target).catch((error: unknown) => {
      this.#opening = undefined
      throw error
    })
    return this.#opening
  }

  /** Copies the branch's files and runs its setup, unless already done; returns whether it did. */
  async setUp({ step, plan }: Submitter, isAgain = false): Promise<boolean> {
    const { setup, copy = [] } = plan
    const key = JSON.stringify([setup, copy])
    if (this.#setUp.has(key) && !isAgain) return false
    copyInto(this.#path, this.site, copy)
    if (setup !== undefined) {
      const here = { ...step, cwd: this.cwd }
      const answer = await runCommand({ role: 'setup', command: setup, step: here }, this.#context)
      if (answer.result === 'stopped') throw new StopError('stopped during the setup')
      if (answer.result !== 'ok')
        throw new UserError(`the setup before the checks failed: ${setup}: ${answer.detail}`)
    }
    this.#setUp.add(key)
    return true
  }

  /** The folder in it that corresponds to that of the project. */
  get cwd(): string {
    return resolve(this.#path, this.site.inside)
  }

  async remove(): Promise<void> {
    await discardWorktree(this.site.top, this.#path, this.gitIn)
  }

  async #make(target: TargetBranch): Promise<IntegrationTree> {
    const found = await target.tip()
    const commit = found.kind === 'tip' ? found.commit : found.target
    const wanted = { path: this.#path, branch: undefined, base: commit }
    const made = await makeWorktree(this.site, wanted, this.gitIn)
    markReady(made)
    return { ...made, git: gitOf(this.gitIn, made) }
  }
}
