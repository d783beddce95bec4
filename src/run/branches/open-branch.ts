import { existsSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { BranchPlan, StepNode } from '../../chain/plan/plan.ts'
import { branchName } from '../../records/events/branch-name.ts'
import { branchAt, type BranchState } from '../../records/events/branch-state.ts'
import type { End } from '../../records/events/schema.ts'
import { errorText, UserError } from '../../base/errors.ts'
import type { Ports } from '../ports.ts'
import type { HandIn } from '../merge/merge-queue.ts'
import { StopError } from '../process/git.ts'
import {
  bringTo,
  commitRest,
  operationIn,
  repair,
  returnToBranch,
  tipRef,
  type BranchTree,
} from './branch-tree.ts'
import type { MergeLane } from './merge-lane.ts'
import { unsavedWork } from './unsaved-work.ts'

interface Parts {
  readonly scope: readonly string[]
  readonly plan: BranchPlan
  readonly lastSteps: readonly number[]
  readonly tree: BranchTree
  /** The project's folder, relative to the worktree. */
  readonly inside: string
  readonly lane: MergeLane
  readonly ports: Ports
  /** Its display name, also the author of leftover changes that we commit. */
  readonly name: string
}

/** Why the worktree still exists after the branch has ended. */
export interface Kept {
  readonly kept: string
  /** Whether it has unmerged commits. */
  readonly hasCommits?: boolean
}

/** An open branch: its worktree, and how its work gets into the target branch. */
export class OpenBranch {
  readonly scope: readonly string[]
  readonly plan: BranchPlan
  /** The steps whose completion completes it. */
  readonly lastSteps: ReadonlySet<number>
  readonly cwd: string
  readonly tree: BranchTree
  readonly #lane: MergeLane
  readonly #ports: Ports
  readonly #name: string
  /** The last commit of the target branch that the worktree was updated to. */
  #given: string | undefined

  constructor({ scope, plan, lastSteps, tree, inside, lane, ports, name }: Parts) {
    this.scope = scope
    this.plan = plan
    this.lastSteps = new Set(lastSteps)
    this.tree = tree
    this.cwd = join(tree.path, inside)
    this.#lane = lane
    this.#ports = ports
    this.#name = name
  }

  /** The step with the folder of this branch. */
  place(step: StepNode): StepNode {
    return { ...step, cwd: this.cwd }
  }

  /** What the next prompt says about a refused merge, if the step had already ended. */
  get feedback(): string | undefined {
    const { lastMerge } = this.#state
    return lastMerge === undefined || lastMerge.result === 'merged' ? undefined : lastMerge.feedback
  }

  /** Before an iteration: updates the worktree to what others have merged, unless it has unmerged work. */
  async bringUpToDate(): Promise<boolean> {
    try {
      const found = await this.#lane.target.tip()
      if (found.kind === 'diverged') return false
      const hasMoved = await bringTo(this.tree, found.commit, (tip) => this.#isMerged(tip))
      if (hasMoved) this.#given = found.commit
      return hasMoved
    } catch (error) {
      // The problem is reported when the work is handed in.
      if (!(error instanceof Error)) throw error
      return false
    }
  }

  /** After an iteration: returns the worktree to its branch, with everything that was committed. */
  async settle(): Promise<void> {
    const { tip, merged } = this.#state
    const before = tip === merged?.tip ? undefined : tip
    const name = branchName(this.#ports.state(), this.scope) ?? this.#name
    const warn = (note: string) => this.#ports.emit({ type: 'warning', text: `${name}: ${note}` })
    for (const note of repair(this.tree)) warn(note)
    if (!existsSync(this.tree.path)) return
    for (const note of await returnToBranch(this.tree, before)) warn(note)
  }

  /** Its last commit at the end of an iteration, protected by a ref from now on. */
  async secureTip(): Promise<string | undefined> {
    const tip = await this.tip()
    const { git, branch } = this.tree
    if (tip !== undefined) await git('update-ref', tipRef(branch), tip)
    return tip
  }

  /** Its last commit. */
  tip(): Promise<string | undefined> {
    return this.#lane.target.tipOf(this.tree.branch)
  }

  /** Commits the task files, so that others see the new state of the tasks. */
  async commitTasks(folder: string): Promise<boolean> {
    return (
      !existsSync(this.tree.path) ||
      commitRest(this.tree, this.#name, relative(this.tree.path, folder))
    )
  }

  /** Commits the leftover changes of a complete branch; returns the reason if it cannot. */
  async commitRest(): Promise<string | undefined> {
    if (!existsSync(this.tree.path) || (await commitRest(this.tree, this.#name))) return undefined
    const operation = operationIn(this.tree)
    const what =
      operation === undefined
        ? 'its worktree has unresolved conflicts; resolve them'
        : `${operation} is still in progress in its worktree; finish or abort it`
    return `${what}, then resume: ${this.tree.path}`
  }

  /** Whether it has unmerged commits. */
  async hasUnmerged(): Promise<boolean> {
    const tip = await this.tip()
    return tip !== undefined && !(await this.#isMerged(tip))
  }

  /** Hands in its commits; the result is in the events. Undefined if the run is stopped before. */
  async handIn(step: StepNode): Promise<'done' | undefined> {
    const tip = await this.tip().catch(() => undefined)
    const { branch, merged, base } = this.#state
    const item: HandIn = {
      scope: this.scope,
      branch,
      tip: tip ?? base,
      method: this.plan.merge,
      gates: this.plan.verify,
      given: this.#given ?? base,
      ...(merged === undefined ? {} : { merged: merged.tip }),
    }
    try {
      await this.#lane.handIn(item, { step, plan: this.plan })
      return 'done'
    } catch (error) {
      if (error instanceof StopError) return undefined
      if (!(error instanceof Error)) throw error
      const detail = error instanceof UserError ? error.message : errorText(error)
      this.#lane.ended(item, { kind: 'broken', detail })
      return 'done'
    }
  }

  /** Why it cannot be removed yet; undefined if everything in it is merged. */
  async whyKept(): Promise<Kept | undefined> {
    const isUnmerged = await this.hasUnmerged()
    const unsaved = existsSync(this.tree.path)
      ? await unsavedWork(this.tree, (commit) => this.#isMerged(commit))
      : []
    const reasons = [...(isUnmerged ? ['unmerged commits'] : []), ...unsaved]
    if (reasons.length === 0) return undefined
    return { kept: reasons.join(' and '), ...(isUnmerged ? { hasCommits: true } : {}) }
  }

  /** How the branch's step or group ends because of its last merge; undefined if the merge succeeded. */
  get refusal(): End | undefined {
    const { lastMerge } = this.#state
    if (lastMerge === undefined || lastMerge.result === 'merged') return undefined
    const { result, detail } = lastMerge
    return { reason: result, ...(detail === undefined ? {} : { detail }) }
  }

  async #isMerged(tip: string): Promise<boolean> {
    const { merged, base } = this.#state
    return tip === base || tip === merged?.tip || this.#lane.target.contains(tip)
  }

  get #state(): BranchState {
    return branchAt(this.#ports.state(), this.scope)!
  }
}
