import { join } from 'node:path'
import { dropUndefined } from '../../base/objects.ts'
import { counted } from '../../base/amounts.ts'
import { firstCause } from '../../base/first-cause.ts'
import { oneLine, listed } from '../../base/shorten.ts'
import { holdLock } from '../../base/linux/lock.ts'
import type { Moving } from '../../records/events/branch-state.ts'
import type { Context } from '../context.ts'
import { TargetBranch } from '../merge/target-branch.ts'
import { checkOut, type IntegrationTree } from '../merge/integrate.ts'
import {
  MergeQueue,
  type MergedHandIn,
  type GateResult,
  type HandedIn,
  type HandIn,
  type MergeHost,
} from '../merge/merge-queue.ts'
import { runCommand } from '../policy/command.ts'
import { describeFailedGate } from '../policy/gates.ts'
import { StopError } from '../process/git.ts'
import type { IntegrationFolder, Submitter } from './integration-folder.ts'

/** How long to wait before trying the lock again while another run merges. */
const POLL_MS = 200

/** Merges the branches of a run into one target branch, one batch at a time. */
export class MergeLane implements MergeHost {
  readonly target: TargetBranch
  readonly #context: Context
  readonly #folder: IntegrationFolder
  readonly #queue = new MergeQueue(this)
  /** Keyed by the scope of the branch. */
  readonly #submitters = new Map<string, Submitter>()

  /**
   * `known` is the last known commit of the target; `aside` names the branch for merges that cannot go there.
   */
  constructor(
    context: Context,
    folder: IntegrationFolder,
    target: { readonly into: string; readonly aside: string; readonly known: string },
  ) {
    const { into, aside, known } = target
    this.#context = context
    this.#folder = folder
    this.target = new TargetBranch(folder.site.top, into, aside, known, folder.gitIn)
  }

  /** Throws `StopError` if the run is stopped before the work is merged or refused. */
  handIn(item: HandIn, submitter: Submitter): Promise<HandedIn> {
    this.#submitters.set(item.scope.join('/'), submitter)
    return this.#queue.handIn(item)
  }

  tree(): Promise<IntegrationTree> {
    return this.#folder.open(this.target)
  }

  async check(item: HandIn): Promise<GateResult> {
    const submitter = this.#submitters.get(item.scope.join('/'))!
    const isFresh = await this.#folder.setUp(submitter)
    const result = await this.#runGates(item, submitter)
    // The work may need dependencies that are not installed yet.
    if (result.kind === 'open' || isFresh || submitter.plan.setup === undefined) return result
    await this.#folder.setUp(submitter, true)
    return this.#runGates(item, submitter)
  }

  /** One merge at a time in a repository, whichever run it belongs to. */
  async lock<Result>(work: () => Promise<Result>): Promise<Result> {
    const { stop } = this.#context.ports
    const path = join(this.#folder.commonDir, 'forkhestra-merge.lock')
    for (;;) {
      if (stop.aborted) throw new StopError('stopped before the merge')
      const release = holdLock(path)
      if (release === undefined) await firstCause({ poll: POLL_MS, stop })
      else return work().finally(release)
    }
  }

  started(items: readonly HandIn[], onto: string): void {
    for (const { scope, branch, tip, gates } of items) {
      const checks = gates.length === 0 ? {} : { checks: [...gates] }
      const place = { scope: [...scope], branch, tip }
      this.#context.ports.emit({ type: 'merge_started', ...place, onto, ...checks })
    }
  }

  ready(merged: readonly MergedHandIn[], from: string, to: string): void {
    const merges = merged.map(({ item: { scope, branch, tip }, commit, commits, copies }) => ({
      scope: [...scope],
      branch,
      tip,
      commit,
      commits,
      copies,
    }))
    this.#context.ports.emit({ type: 'merge_moving', into: this.target.name, from, to, merges })
  }

  reunited(copies: MergedHandIn['copies'], from: string, to: string): void {
    const event = { type: 'merge_moving' as const, into: this.target.name, from, to, merges: [] }
    this.#context.ports.emit({ ...event, copies })
  }

  ended({ scope, branch, tip }: HandIn, result: HandedIn): void {
    const place = { type: 'merge_ended' as const, scope: [...scope], branch, tip }
    const { emit } = this.#context.ports
    switch (result.kind) {
      case 'merged': {
        const { commit, copies, commits, aside } = result
        const more = dropUndefined({
          commits,
          copies: copies.length === 0 ? undefined : copies,
          aside,
        })
        emit({ ...place, result: 'merged', commit, ...more })
        return
      }
      case 'conflict': {
        const { files, others } = result
        const detail = `conflicts with ${this.target.name} in ${counted(files.length, 'file')}: ${listed(files, MOST_NAMED)}`
        const feedback = conflictFeedback(this.target.name, files, others)
        emit({ ...place, result: 'conflict', files: [...files], detail, feedback })
        return
      }
      case 'gate': {
        const feedback = `${result.feedback}\n${combinedFeedback(this.target.name)}`
        const { detail } = result
        emit({ ...place, result: 'gate_failed', detail, cause: 'check_failed', feedback })
        return
      }
      case 'broken': {
        const { kind: _, ...why } = result
        emit({ ...place, result: 'error', ...why })
      }
    }
  }

  /** Completes a move that a killed process had begun; if it succeeds, its branches are merged. */
  async complete({ from, to, merges }: Moving): Promise<void> {
    await this.lock(async () => {
      const tree = await this.tree()
      if (!(await this.target.contains(to))) {
        await checkOut(tree, to)
        await this.target.complete({ from, to }, tree.path)
      }
      if (!(await this.target.contains(to))) return
      for (const { scope, branch, tip, commit, commits, copies } of merges) {
        const item = { scope, branch, tip, method: 'rebase' as const, gates: [] }
        this.ended(item, { kind: 'merged', commit, commits, copies })
      }
    })
  }

  async #runGates({ gates }: HandIn, { step }: Submitter): Promise<GateResult> {
    const here = { ...step, cwd: this.#folder.cwd }
    for (const command of gates) {
      const answer = await runCommand({ role: 'verify', command, step: here }, this.#context)
      if (answer.result === 'stopped') throw new StopError('stopped during the checks')
      if (answer.result === 'ok') continue
      const detail = `${command}: ${answer.detail}`
      return { kind: 'closed', detail, feedback: describeFailedGate(detail, answer.tail) }
    }
    return { kind: 'open' }
  }
}

/** Maximum number of files to name in a message. */
const MOST_NAMED = 5
/** Maximum number of files to name in a prompt, whose length is limited. */
const MOST_LISTED = 50

function conflictFeedback(
  into: string,
  files: readonly string[],
  others: readonly string[],
): string {
  return [
    `[forkhestra] Your commits cannot be merged into ${into} because of conflicts in these files:`,
    ...files.slice(0, MOST_LISTED).map((file) => `  ${oneLine(file)}`),
    ...(files.length > MOST_LISTED ? [`  and ${files.length - MOST_LISTED} more`] : []),
    ...(others.length === 0 ? [] : [`These commits on ${into} changed the same files:`]),
    ...others.map((commit) => `  ${commit}`),
    `Run git merge ${into}, resolve the conflicts so that both changes are kept, run the tests and commit.`,
  ].join('\n')
}

function combinedFeedback(into: string): string {
  return `The check ran on your work combined with the current ${into}. Run git merge ${into} to get the same files here.`
}
