import { basename } from 'node:path'
import { isInBranch } from '../../records/events/branch-state.ts'
import { countTokens } from '../../records/events/spent.ts'
import { isDone, type RunState } from '../../records/events/state.ts'
import type { StepState } from '../../records/events/step-state.ts'
import { formatSpent } from '../amounts.ts'
import { describeLeftInQueue, notQueuedLines } from '../describe-task.ts'
import {
  adviceFor,
  describeBlockedTasks,
  describeDeletedTasks,
  describeFailing,
  describeMissingSecrets,
  describeReason,
  describeResumeOptions,
} from '../describe.ts'
import { copyNumber, describeCopies, describeRounds, groupByStep } from '../copies.ts'
import { describeMerges } from '../merges.ts'
import { notesOn } from '../notes.ts'
import type { Output } from '../view.ts'
import type { SharedLines } from './event-lines.ts'
import { OwnLines } from './own-lines.ts'

/** Maximum number of branches to list. */
const MOST_LEFT = 5

/** The end of a run: what each step did, what failed, and what to do next. */
export class Summary {
  readonly #screen: Output
  readonly #lines: OwnLines
  readonly #shared: SharedLines
  readonly #isChat: boolean

  constructor(screen: Output, shared: SharedLines, isChat: boolean) {
    this.#screen = screen
    this.#lines = new OwnLines(screen, shared.isVerbose)
    this.#shared = shared
    this.#isChat = isChat
  }

  get #state(): RunState {
    return this.#shared.state
  }

  show(): void {
    const { ended, record, spent, outerRun } = this.#state
    const steps = this.#state.steps.filter((step) => !step.isRecovery || step.rounds > 0)
    for (const { pid, command, survived } of ended?.leftovers ?? []) {
      if (survived) this.#lines.warn(`Could not end a leftover process: ${command} (pid ${pid})`)
      else this.#lines.say(`Ended a leftover process: ${command} (pid ${pid})`)
    }
    // A queue without a chain: its tasks are already reported.
    if (this.#state.steps.length === 0) return
    this.#screen.line('')
    const notes = notesOn(this.#state)
    if (steps.length > 1 || notes.some(({ isOfStep }) => isOfStep) || !ended?.ok) {
      for (const copies of groupByStep(steps)) this.#showStep(copies)
    }
    this.#lines.say(this.#result())
    this.#showMerges()
    for (const words of steps.map(describeDeletedTasks))
      if (words !== undefined) this.#lines.warn(words)
    if (spent.costUsd > 0 || countTokens(spent) > 0) this.#lines.say(`Spent: ${formatSpent(spent)}`)
    for (const { words, isOfStep } of notes)
      if (isOfStep !== true) this.#lines.warn(`Note: ${words}`)
    const nexts = new Set(notes.map(({ next: [what, why] }) => `To ${why}: ${what}`))
    for (const line of nexts) this.#lines.warn(line)
    const command = (words: string) => this.#shared.command(words)
    for (const line of notQueuedLines(steps, record, command)) this.#lines.warn(line)
    // Without --run, these commands would use the outer run.
    const option =
      outerRun === undefined || record === undefined ? '' : ` --run ${basename(record)}`
    const forQueue = (words: string) => command(`${words}${option}`)
    for (const line of describeLeftInQueue(ended?.queue, forQueue)) this.#lines.say(line)
    const unsettled = steps.filter((step) => !isDone(this.#state, step) && !step.isRecovery)
    // Earlier failures did not stop the run, because of their onFail.
    const failed = findFailed(unsettled) ?? unsettled[0]
    for (const copies of groupByStep(unsettled)) {
      const other = findFailed(copies)
      if (other !== undefined && other.number !== failed?.number)
        this.#lines.say(`Also failed: ${placeOf(other, copies)} (${describeReason(other)})`)
    }
    if (failed !== undefined) this.#showFailure(failed, placeOf(failed, unsettled), record)
    else if (ended?.stopped !== undefined)
      this.#lines.say(`The run was ${ended.stopped} after its last step`)
    else if (ended?.ok === false)
      this.#lines.say(
        `All steps are complete, but the run failed (exit code ${ended.exitCode}); see above`,
      )
  }

  /** A step with all its copies, and the rounds of the groups that end with it. */
  #showStep(copies: readonly StepState[]): void {
    const [step] = copies
    if (step === undefined) return
    this.#lines.line(`  ${step.number}. ${nameOf(step)}: ${describeCopies(copies)}`)
    for (const words of describeRounds(this.#state, step.number)) this.#lines.line(`  ${words}`)
  }

  #showMerges(): void {
    const { merged, left, open } = describeMerges(this.#state, this.#shared.reader())
    for (const words of merged) this.#lines.say(words)
    for (const { words, next } of left.slice(0, MOST_LEFT)) {
      this.#lines.warn(words)
      this.#lines.warn(`To ${next[1]}: ${next[0]}`)
    }
    const more = left.length - MOST_LEFT
    if (more > 0)
      this.#lines.warn(`And ${more} more; to see them: ${this.#shared.command('worktrees')}`)
    if (open !== undefined) this.#lines.warn(open)
  }

  #result(): string {
    const own = this.#state.steps.filter((step) => !step.isRecovery)
    const kind = own.some((step) => step.maxIterations !== undefined) ? 'Chain' : 'Pipeline'
    const steps = groupByStep(own)
    const settled = steps.filter((copies) =>
      copies.every((each) => isDone(this.#state, each)),
    ).length
    const passed = steps.filter((copies) => copies.every((each) => each.isPassed)).length
    const state = settled === steps.length ? 'complete' : 'incomplete'
    const skipped = passed === 0 ? '' : `, ${passed} skipped`
    return `${kind} ${state} (${settled}/${steps.length} steps${skipped})`
  }

  #showFailure(failed: StepState, place: string, record: string | undefined): void {
    const how = `Failed at ${place} (${describeReason(failed)})`
    if (failed.reason !== 'skipped') this.#lines.line(`[forkhestra] ${how}`, true)
    else this.#lines.say(`Stopped before ${place} (${this.#state.ended?.stopped ?? 'not started'})`)
    const { stopped } = this.#state.ended ?? {}
    const isNews = failed.reason !== 'skipped' && failed.reason !== 'interrupted'
    if (stopped !== undefined && isNews) this.#lines.say(`Then the run was ${stopped}`)
    if (failed.maxIterations !== undefined && failed.failures > 0)
      this.#lines.warn(describeFailing(failed))
    for (const line of describeBlockedTasks(failed)) this.#lines.warn(line)
    const advice = adviceFor(failed, {
      maybeMarked: this.#shared.maybeMarked.has(failed.key),
      isInBranch: isInBranch(this.#state, failed.key),
    })
    if (advice !== undefined) this.#lines.warn(advice)
    if (record === undefined) return
    this.#lines.warn(`Record of the run: ${record}`)
    this.#lines.warn(this.#describeResume(basename(record), failed))
  }

  #describeResume(run: string, failed: StepState): string {
    const needs = describeResumeOptions(this.#state, failed)
    if (needs === undefined)
      return `Cannot be resumed: ${describeMissingSecrets(this.#state.lacks!)}. Start the chain again, with the secret in an environment variable`
    const resume = this.#isChat ? 'chat --resume' : 'resume'
    return `To resume: ${this.#shared.command(`${resume} ${run}`)}${needs.options}${needs.why}`
  }
}

function nameOf({ name, agent }: StepState, copy = ''): string {
  return name === undefined ? `${agent}${copy}` : `${name}${copy} (${agent})`
}

/** `step 2: builder#3`; without the copy if all copies ended in the same way. */
function placeOf(step: StepState, unsettled: readonly StepState[]): string {
  const copies = unsettled.filter(({ number }) => number === step.number)
  const isSame = copies.length > 1 && new Set(copies.map(describeReason)).size === 1
  return `step ${step.number}: ${nameOf(step, isSame ? '' : copyNumber(step))}`
}

/** The last failed step; one that failed on its own is preferred to one that others stopped. */
function findFailed(steps: readonly StepState[]): StepState | undefined {
  const failed = steps.filter(hasFailed).filter(({ reason }) => reason !== 'cancelled')
  const isKept = ({ reason, cause }: StepState) => reason === 'blocked' && cause === 'tasks_left'
  const last = failed.at(-1)
  if (last === undefined) return steps.findLast(hasFailed)
  const copies = failed.filter(({ number }) => number === last.number)
  return copies.findLast((step) => !isKept(step)) ?? last
}

function hasFailed({ reason }: StepState): boolean {
  return reason !== undefined && reason !== 'skipped' && reason !== 'interrupted'
}
