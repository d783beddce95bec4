import { dropUndefined } from '../../base/objects.ts'
import type { EndCause, GitChanges, End, Outcome } from '../../records/events/schema.ts'
import { describeOutcome } from '../../records/events/describe-outcome.ts'
import { isInRepository } from '../../base/repository.ts'
import { stepAt } from '../../records/events/state.ts'
import { stepsOf, type Plan, type StepNode } from '../../chain/plan/plan.ts'
import type { Ports } from '../ports.ts'
import { changesBetween, takeSnapshot, type GitSnapshot } from './git-snapshot.ts'

/** The parts of an iteration's end that progress depends on. */
export interface Judged {
  readonly outcome: Outcome
  /** The result of the gates, if they ran; a change of it counts as progress. */
  readonly gate?: Gate | undefined
  /** What the next prompt says about a failed gate. */
  readonly feedback?: string | undefined
  /** Whether the iteration does not count and is repeated. */
  readonly isAgain?: boolean
}

interface Gate {
  readonly isOpen: boolean
  readonly detail: string
  /** Why it is closed. */
  readonly cause?: EndCause
}

/** Changes made by an iteration. */
export interface Measured {
  /** Iterations without progress so far, this one included; undefined if they are not counted. */
  readonly idle?: number
  readonly fingerprint?: string
  readonly changes?: GitChanges
}

/** The state whose changes count as progress; an absent part was not examined. */
interface Fingerprint {
  readonly git?: string
  readonly tasks?: string
  readonly gate?: string
  readonly outcome?: string
}

/** Compares the repository and the tasks before and after iterations. */
export class ProgressWatch {
  readonly #plan: Plan
  readonly #ports: Ports
  #latest: GitSnapshot | undefined
  /** The snapshot from before this process changed anything. */
  #first: GitSnapshot | undefined
  /** The files that an earlier process of the run changed. */
  #changedBefore: ReadonlySet<string> = new Set()
  readonly #isGit: boolean
  #hasWarned = false
  /** Whether anything other than an iteration has changed the files since the last iteration. */
  #isStale = false

  constructor(plan: Plan, ports: Ports) {
    this.#plan = plan
    this.#ports = ports
    // With GIT_DIR only git knows where the repository is.
    this.#isGit = ports.env['GIT_DIR'] !== undefined || isInRepository(plan.cwd)
  }

  /** Call before an iteration; only the first one of a step takes a new fingerprint. */
  async begin(step: StepNode): Promise<Fingerprint | undefined> {
    if (this.#latest === undefined) {
      this.#latest = await this.#takeSnapshot()
      this.#first = this.#latest
      this.#changedBefore = this.#filesOfRun()
    }
    if (step.policy.stall === 0) return undefined
    const { fingerprint } = stepAt(this.#ports.state(), step)
    if (fingerprint === undefined) return this.#fingerprint(this.#latest)
    const { gate, outcome, ...files } = parse(fingerprint)
    const now = this.#isStale ? await this.#fingerprint(this.#latest) : files
    this.#isStale = false
    return { ...now, ...dropUndefined({ gate, outcome }) }
  }

  /** Changes since the last iteration do not count as progress of the next one. */
  forget(): void {
    this.#latest = undefined
    this.#isStale = true
  }

  /** Call after an iteration was judged. */
  async measure(
    step: StepNode,
    { outcome, gate, isAgain }: Judged,
    before: Fingerprint | undefined,
  ): Promise<Measured> {
    const earlier = this.#latest
    const snapshot = await this.#takeSnapshot()
    this.#latest = snapshot ?? earlier
    const changes =
      earlier === undefined || snapshot === undefined
        ? {}
        : { changes: await changesBetween(this.#plan.cwd, earlier, snapshot, this.#ports.env) }
    if (before === undefined || isAgain === true) return changes
    const { idle } = stepAt(this.#ports.state(), step)
    // Without a snapshot, progress is unknown.
    if (this.#isGit && snapshot === undefined) return { ...changes, idle }
    const after = {
      ...(await this.#fingerprint(snapshot)),
      ...(gate === undefined ? {} : { gate: gate.isOpen ? 'open' : gate.detail }),
      outcome: outcome.kind === 'exited' ? `exited ${outcome.code}` : outcome.kind,
    }
    const fingerprint = JSON.stringify(after)
    return { ...changes, fingerprint, idle: isProgress(before, after) ? 0 : idle + 1 }
  }

  /** The number of files that the run changed and did not commit; undefined if none or unknown. */
  async countUncommitted(): Promise<number | undefined> {
    // Programs such as formatters are not expected to commit.
    const isDirect = stepsOf(this.#plan.root).some(({ agent }) => agent.engine !== 'binary')
    if (!isDirect || this.#ports.state().hasChangedFiles !== true) return undefined
    const prints = [...((await this.#takeSnapshot())?.prints ?? [])]
    const first = this.#first
    // If this process ran no iteration, only files that an earlier process changed can be the run's.
    const known = first === undefined ? this.#filesOfRun() : this.#changedBefore
    const changed = prints.filter(
      ([path, print]) =>
        known.has(path) || (first !== undefined && first.prints.get(path) !== print),
    )
    return changed.length === 0 ? undefined : changed.length
  }

  #filesOfRun(): ReadonlySet<string> {
    return new Set(this.#ports.state().changedFiles)
  }

  async #takeSnapshot(): Promise<GitSnapshot | undefined> {
    if (!this.#isGit) return undefined
    // Claiming and releasing a task is not progress; the content of tasks is compared separately.
    const uncounted = [this.#ports.tasks.folder()]
    const snapshot = await takeSnapshot(this.#plan.cwd, this.#ports.env, uncounted)
    if (snapshot === undefined) this.#warn()
    return snapshot
  }

  #warn(): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    const text = 'git does not answer: cannot tell whether iterations make progress'
    this.#ports.emit({ type: 'warning', text })
  }

  async #fingerprint(snapshot: GitSnapshot | undefined): Promise<Fingerprint> {
    return {
      ...(snapshot === undefined ? {} : { git: `${snapshot.head} ${snapshot.tree}` }),
      tasks: await this.#ports.tasks.fingerprint(),
    }
  }
}

function isProgress(before: Fingerprint, after: Fingerprint): boolean {
  const parts = ['git', 'tasks', 'gate', 'outcome'] as const
  return parts.some((part) => {
    const [was, is] = [before[part], after[part]]
    return was !== undefined && is !== undefined && was !== is
  })
}

function parse(fingerprint: string): Fingerprint {
  return JSON.parse(fingerprint) as Fingerprint
}

/** How a step without progress ends, naming everything that was compared. */
export function stalledEnd(
  idle: number,
  { outcome, gate, fingerprint = '{}' }: Judged & Measured,
): End {
  const { git, tasks } = parse(fingerprint)
  const evidence = [
    ...(git === undefined ? [] : describeGit(git)),
    ...(tasks === undefined || tasks === '' ? [] : ['the tasks']),
    ...(gate === undefined ? [] : ['the checks']),
    `the outcome (${describeOutcome(outcome) || outcome.kind})`,
  ]
  const { cause, detail } = gate ?? {}
  const failing = cause === 'check_failed' ? `a check fails (${detail}); ` : ''
  const [last, ...before] = evidence.toReversed()
  const all = before.length === 0 ? last : `${before.toReversed().join(', ')} and ${last}`
  const words = `${failing}${all} did not change`
  const end = {
    reason: 'stalled' as const,
    detail: `${idle} iterations without progress: ${words}`,
  }
  return failing === '' ? end : { ...end, cause: 'check_failed' }
}

function describeGit(git: string): string[] {
  if (git.startsWith('undefined ')) return ['the working tree (no commits yet)']
  return [`HEAD ${git.slice(0, 7)}`, 'the working tree']
}
