import type { Changes, End } from '../events/schema.ts'
import { outcomeWords } from '../events/outcome-words.ts'
import { isInRepository } from '../base/repository.ts'
import { stepAt } from '../events/state.ts'
import { stepsOf, type Plan, type StepNode } from '../plan/plan.ts'
import type { Judgement } from './judge.ts'
import type { Ports } from './ports.ts'
import { changesBetween, lookAtGit, type Look } from './progress.ts'

/** What an iteration has done, as far as it can be seen from outside. */
export interface Made {
  /** Iterations without progress up to here, this one included; undefined where nobody counts. */
  readonly idle?: number
  readonly fingerprint?: string
  readonly changes?: Changes
}

/** By what progress is recognised; a part that is absent was not looked at. */
interface Fingerprint {
  readonly git?: string
  readonly tasks?: string
  readonly gate?: string
  readonly outcome?: string
}

/** Looks at the repository and the tasks before and after iterations, and sees whether anything moved. */
export class ProgressWatch {
  readonly #plan: Plan
  readonly #ports: Ports
  #look: Look | undefined
  /** What was there before the run. */
  #first: Look | undefined
  readonly #isGit: boolean
  #hasWarned = false

  constructor(plan: Plan, ports: Ports) {
    this.#plan = plan
    this.#ports = ports
    // Where variables lead to a repository, only git knows.
    this.#isGit = ports.env['GIT_DIR'] !== undefined || isInRepository(plan.cwd)
  }

  /** Before an iteration: only the first of a step has nothing to be compared with. */
  async begin(step: StepNode): Promise<Fingerprint | undefined> {
    if (this.#look === undefined) {
      this.#look = await this.#lookAround()
      // An earlier process may have changed what is here now.
      this.#first = this.#ports.state().hasChangedFiles === true ? undefined : this.#look
    }
    if (step.policy.stall === 0) return undefined
    const { fingerprint } = stepAt(this.#ports.state(), step.number)
    return fingerprint === undefined ? this.#take(this.#look) : parse(fingerprint)
  }

  /** After an iteration that was judged. */
  async measure(
    step: StepNode,
    { outcome, gate, isAgain }: Judgement,
    before: Fingerprint | undefined,
  ): Promise<Made> {
    const earlier = this.#look
    const look = await this.#lookAround()
    this.#look = look ?? earlier
    const changes =
      earlier === undefined || look === undefined
        ? {}
        : { changes: await changesBetween(this.#plan.cwd, earlier, look, this.#ports.env) }
    if (before === undefined || isAgain === true) return changes
    const { idle } = stepAt(this.#ports.state(), step.number)
    // Without a look nobody knows whether anything moved.
    if (this.#isGit && look === undefined) return { ...changes, idle }
    const after = {
      ...this.#take(look),
      ...(gate === undefined ? {} : { gate: gate.isOpen ? 'open' : gate.detail }),
      outcome: outcome.kind === 'exited' ? `exited ${outcome.code}` : outcome.kind,
    }
    const fingerprint = JSON.stringify(after)
    return { ...changes, fingerprint, idle: isProgress(before, after) ? 0 : idle + 1 }
  }

  /** How many files the run changed and left uncommitted; undefined: none, or it cannot be seen. */
  async countUncommitted(): Promise<number | undefined> {
    // Programs such as formatters are not expected to commit.
    const isDirect = stepsOf(this.#plan.root).some(({ agent }) => agent.engine !== 'binary')
    if (!isDirect || this.#ports.state().hasChangedFiles !== true) return undefined
    const prints = [...((await this.#lookAround())?.prints ?? [])]
    const changed = prints.filter(([path, print]) => this.#first?.prints.get(path) !== print)
    return changed.length === 0 ? undefined : changed.length
  }

  async #lookAround(): Promise<Look | undefined> {
    if (!this.#isGit) return undefined
    // That a task was claimed and released is not progress; its content is looked at separately.
    const uncounted = [this.#ports.tasks.folder()]
    const look = await lookAtGit(this.#plan.cwd, this.#ports.env, uncounted)
    if (look === undefined) this.#warn()
    return look
  }

  #warn(): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    const text = 'git does not answer: whether iterations make progress cannot be seen'
    this.#ports.emit({ type: 'warning', text })
  }

  #take(look: Look | undefined): Fingerprint {
    return {
      ...(look === undefined ? {} : { git: `${look.head} ${look.tree}` }),
      tasks: this.#ports.tasks.fingerprint(),
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

/** Why a step stops that does not get on, with what was looked at. */
export function stalledEnd(
  idle: number,
  { outcome, gate, feedback }: Judgement,
  fingerprint: string | undefined,
): End {
  const { git, tasks } = parse(fingerprint ?? '{}')
  const evidence = [
    ...(git === undefined ? [] : [`${headWords(git)} and the working tree`]),
    ...(tasks === undefined || tasks === '' ? [] : ['the tasks']),
    ...(gate === undefined ? [] : ['the checks']),
    `the outcome (${outcomeWords(outcome) || outcome.kind})`,
  ]
  // Tasks that are still ready shut the gate as well, without anything for the next prompt.
  const failing = feedback === undefined ? '' : `a check fails (${gate?.detail}); `
  const words = `${failing}${evidence.join(', ')} did not change`
  return { reason: 'stalled', detail: `${idle} iterations without progress: ${words}` }
}

function headWords(git: string): string {
  return git.startsWith('undefined ') ? 'no commit' : `HEAD ${git.slice(0, 7)}`
}
