import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { errorText, UserError } from '../../base/errors.ts'
import { branchIn, CHECKED_OUT } from '../../base/git.ts'
import type { BranchPlan, StepNode } from '../../chain/plan/plan.ts'
import { branchAt, type BranchState } from '../../records/events/branch-state.ts'
import type { AsideWork, End } from '../../records/events/schema.ts'
import type { Context } from '../context.ts'
import { tipOf, type GitIn } from '../merge/move-branch.ts'
import { describeLeftovers } from '../process/run-processes.ts'
import { interrupted } from '../ports.ts'
import { StopError } from '../process/git.ts'
import { gitOf, makeBranchGit } from './branch-git.ts'
import { repair, tipRef, type BranchTree } from './branch-tree.ts'
import {
  discardWorktree,
  findSite,
  freePath,
  hasBranch,
  makeWorktree,
  markReady,
  type Site,
} from './branch-worktree.ts'
import { commitTasks } from './commit-tasks.ts'
import { IntegrationFolder } from './integration-folder.ts'
import { MergeLane } from './merge-lane.ts'
import { OpenBranch, type Kept } from './open-branch.ts'
import { WorktreeSetup } from './worktree-setup.ts'

/** Describes a branch to open. */
export interface BranchRequest {
  readonly scope: readonly string[]
  readonly plan: BranchPlan
  /** The steps whose completion completes it. */
  readonly lastSteps: readonly number[]
  /** Its display name. */
  readonly name: string
  /** One of its steps, for the environment of commands. */
  readonly step: StepNode
  /** The branch that it starts from and is merged into; undefined for the project's branch. */
  readonly outer: OpenBranch | undefined
}

/** The worktrees and merges of a run. */
export class Branches {
  readonly #context: Context
  #git: Promise<Repository> | undefined
  readonly #lanes = new Map<string, MergeLane>()
  #last: Promise<unknown> = Promise.resolve()
  readonly #setup: WorktreeSetup

  constructor(context: Context) {
    this.#context = context
    this.#setup = new WorktreeSetup(context)
  }

  /** Completes what a killed process had begun. */
  async recover(): Promise<void> {
    for (const moving of this.#context.ports.state().moving ?? []) {
      try {
        const lane = await this.#laneTo(moving.into, moving.from)
        await lane.complete(moving)
      } catch (error) {
        if (!(error instanceof Error)) throw error
        this.#warn(`a merge into ${moving.into} could not be completed: ${errorText(error)}`)
      }
    }
  }

  /** Prepares the target branch, from which new branches start; returns the end of the group if that fails. */
  prepare(outer: OpenBranch | undefined): Promise<End | undefined> {
    return this.#inTurn(() =>
      this.#guard(async () => {
        const repository = await this.#repository()
        const into = outer?.tree.branch ?? (await this.#baseBranch(repository))
        const { site, gitIn } = repository
        const folder = outer?.tree.path ?? site.top
        await this.#lanes.get(into)?.target.followFiles()
        const tasks =
          outer === undefined ? this.#context.ports.tasks : this.#context.ports.tasksIn(outer.cwd)
        return commitTasks({ folder, into, tasksFolder: tasks.folder(), gitIn })
      }),
    )
  }

  /** Creates the worktree of a branch, or finds its existing one. */
  open(request: BranchRequest): Promise<OpenBranch | End> {
    return this.#guard(async () => {
      const { branch, made } = await this.#inTurn(() => this.#make(request))
      if (!made.isNew) return branch
      const { site, gitIn } = await this.#repository()
      const problem = await this.#setup.run(branch, request.step, site, gitIn)
      if (problem !== undefined) return problem
      markReady(made)
      return branch
    })
  }

  /** Removes a branch, unless it contains work that exists nowhere else. */
  async close(branch: OpenBranch, step: StepNode | undefined, canHandIn: boolean): Promise<void> {
    const { ports, processes } = this.#context
    const left = await processes.endScope(branch.scope, ports.force, branch.tree.path)
    if (left.length > 0)
      this.#warn(`ended leftover processes of a branch: ${describeLeftovers(left)}`)
    if (step !== undefined && canHandIn && (await this.#mayHandIn(branch)))
      if ((await branch.handIn(step)) === undefined) return
    const kept = await this.#inTurn(() => this.#remove(branch))
    const { path, branch: name } = branch.tree
    const place = { scope: [...branch.scope], branch: name, path }
    ports.emit({ type: 'branch_ended', ...place, ...kept })
  }

  /** Closes branches in which no agent works any more. */
  async closeAll(left: readonly BranchState[]): Promise<void> {
    const { site, gitIn } = await this.#repository()
    const { ports } = this.#context
    const inTop = (...args: string[]) => gitIn(site.top, ...args)
    for (const { scope, branch: name, path, base, into } of left) {
      const made = existsSync(path)
        ? await makeWorktree(site, { path, branch: name, base }, gitIn)
        : { path, gitDir: '' }
      const git = made.gitDir === '' ? inTop : gitOf(gitIn, made)
      const tree = { ...made, branch: name, git }
      const plan = { isolation: 'worktree' as const, merge: 'rebase' as const, verify: [] }
      const lane = await this.#laneTo(into, base)
      const parts = { scope, plan, lastSteps: [], tree, inside: site.inside, lane, ports, name }
      await this.close(new OpenBranch(parts), undefined, false)
    }
  }

  /** Removes what only merges needed. Returns where merged work is that could not reach its target branch. */
  async end(): Promise<AsideWork[]> {
    const repository = await this.#repository().catch(() => undefined)
    if (repository === undefined) return []
    const left: AsideWork[] = []
    await repository.folder.remove().catch(() => undefined)
    // Includes what earlier processes of the run merged.
    for (const { into, base } of this.#context.ports.state().branches ?? [])
      await this.#laneTo(into, base)
    for (const lane of this.#lanes.values()) {
      await lane.target.followFiles().catch(() => undefined)
      const work = await lane.target.workAside().catch(() => undefined)
      if (work !== undefined) left.push(work)
    }
    return left
  }

  async #mayHandIn(branch: OpenBranch): Promise<boolean> {
    return branch.refusal === undefined && branch.hasUnmerged().catch(() => false)
  }

  async #make({ scope, plan, lastSteps, name, outer }: BranchRequest) {
    const repository = await this.#repository()
    const { site, gitIn } = repository
    const { ports } = this.#context
    const known = branchAt(ports.state(), scope)
    const isContinued = known !== undefined && (known.isOpen || known.kept !== undefined)
    const into = outer?.tree.branch ?? (await this.#baseBranch(repository))
    const start = isContinued ? known : await this.#plan(scope, into, repository)
    const isSame = isContinued && known.isOpen && known.scope.join('/') === scope.join('/')
    if (!isSame) {
      const { branch, path, base } = start
      const setup = isContinued || plan.setup === undefined ? {} : { setup: plan.setup }
      ports.emit({ type: 'branch_started', scope: [...scope], branch, path, base, into, ...setup })
    }
    const base = (isContinued ? await this.#lastTip(known) : undefined) ?? start.base
    const made = await makeWorktree(site, { ...start, base }, gitIn)
    const tree: BranchTree = { ...made, branch: start.branch, git: gitOf(gitIn, made) }
    // An earlier process was killed before it could.
    if (!made.isNew) for (const note of repair(tree)) this.#warn(`${name}: ${note}`)
    const lane = await this.#laneTo(into, start.base)
    const { inside } = site
    const parts = { scope, plan, lastSteps, tree, inside, lane, ports, name }
    const branch = new OpenBranch(parts)
    return { branch, made }
  }

  /** The last known commit of a branch, in case it was deleted. */
  async #lastTip({ tip }: BranchState): Promise<string | undefined> {
    const { site, gitIn } = await this.#repository()
    if (tip === undefined) return undefined
    const found = gitIn(site.top, 'cat-file', '-e', `${tip}^{commit}`).then(() => tip)
    return found.catch(() => undefined)
  }

  /** The names of a new branch, and where it starts. */
  async #plan(scope: readonly string[], into: string, { site, gitIn }: Repository) {
    const { run } = this.#context.plan
    const name = scope.join('.') || 'chain'
    let branch = `forkhestra/${run}/${name}`
    for (let count = 2; await hasBranch(site.top, branch, gitIn); count += 1)
      branch = `forkhestra/${run}/${name}.${count}`
    const base = await this.#startOf(into)
    return { branch, base, path: freePath(site, `${run}-${name}`) }
  }

  /** The commit that a new branch starts from: merges may be on a branch other than the target. */
  async #startOf(into: string): Promise<string> {
    const { site, gitIn } = await this.#repository()
    const found = await this.#lanes.get(into)?.target.tip()
    if (found !== undefined) return found.kind === 'tip' ? found.commit : found.aside
    const tip = await tipOf(site.top, into, gitIn)
    if (tip === undefined) throw new Error(`branch ${into} was deleted`)
    return tip
  }

  /** Why the branch was kept; undefined if removed. */
  async #remove(branch: OpenBranch): Promise<Kept | undefined> {
    const { path, branch: name } = branch.tree
    try {
      const { site, gitIn } = await this.#repository()
      const kept = await branch.whyKept()
      if (kept !== undefined) return kept
      const tip = await branch.tip()
      await discardWorktree(site.top, path, gitIn)
      // Only if the branch has not moved since it was inspected.
      if (tip !== undefined) await gitIn(site.top, 'update-ref', '-d', `refs/heads/${name}`, tip)
      await gitIn(site.top, 'update-ref', '-d', tipRef(name))
      return undefined
    } catch (error) {
      if (!(error instanceof Error)) throw error
      return { kept: errorText(error) }
    }
  }

  /** The branch that was checked out at the start of the run. */
  async #baseBranch({ site, gitIn }: Repository): Promise<string> {
    const { branches = [] } = this.#context.ports.state()
    const own = `forkhestra/${this.#context.plan.run}/`
    const known = branches.find(({ into }) => !into.startsWith(own))?.into
    if (known !== undefined) return known
    try {
      return branchIn(await gitIn(site.top, ...CHECKED_OUT))
    } catch {
      throw new UserError(
        'no branch is checked out (detached HEAD)',
        'Check out a branch: git switch main',
      )
    }
  }

  async #laneTo(into: string, known: string): Promise<MergeLane> {
    const { folder } = await this.#repository()
    const lane = this.#lanes.get(into)
    if (lane !== undefined) return lane
    const { run } = this.#context.plan
    const own = `forkhestra/${run}/`
    const aside = into.startsWith(own) ? `${into}.merged` : `${own}merged`
    const made = new MergeLane(this.#context, folder, { into, aside, known })
    this.#lanes.set(into, made)
    return made
  }

  #repository(): Promise<Repository> {
    this.#git ??= this.#openRepository().catch((error: unknown) => {
      this.#git = undefined
      throw error
    })
    return this.#git
  }

  async #openRepository(): Promise<Repository> {
    const { plan } = this.#context
    const gitIn = await makeBranchGit(this.#context)
    const site = await findSite(plan.cwd, gitIn)
    const commonDir = resolve(
      site.top,
      (await gitIn(site.top, 'rev-parse', '--git-common-dir')).replace(/\n$/, ''),
    )
    const path = join(site.folder, `${plan.run}.merge`)
    return {
      site,
      gitIn,
      folder: new IntegrationFolder(this.#context, site, path, commonDir, gitIn),
    }
  }

  #warn(text: string): void {
    this.#context.ports.emit({ type: 'warning', text })
  }

  /** A git error ends the branch, not the run. */
  async #guard<Result>(work: () => Promise<Result | End>): Promise<Result | End> {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof Error)) throw error
      if (error instanceof StopError) return interrupted(this.#context.ports.stop)
      return { reason: 'error', detail: errorText(error) }
    }
  }

  #inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const next = this.#last.then(work, work)
    this.#last = next.catch(() => undefined)
    return next
  }
}

interface Repository {
  readonly site: Site
  readonly gitIn: GitIn
  readonly folder: IntegrationFolder
}
