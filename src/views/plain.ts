import { basename } from 'node:path'
import { counted, describeQueued } from '../base/amounts.ts'
import { printableLines } from '../base/terminal/printable.ts'
import type { EventOf, OutputChunk } from '../records/events/event.ts'
import type { RunEvent } from '../records/events/schema.ts'
import { describeOutcome } from '../records/events/describe-outcome.ts'
import { countTokens } from '../records/events/spent.ts'
import { NO_EVENTS, next, stepAt, type RunState } from '../records/events/state.ts'
import { isSettled, type StepState } from '../records/events/step-state.ts'
import { formatSpent } from './amounts.ts'
import { notesOn } from './notes.ts'
import type { Output, View } from './screen.ts'
import {
  describeLeftInQueue,
  notQueuedLines,
  ofTask,
  TaskLines,
  describeTaskEnd,
  describeTaskStart,
} from './describe-task.ts'
import {
  adviceFor,
  cwdOption,
  describeBlockedTasks,
  describeDeletedTasks,
  describeFailing,
  describeMissingSecrets,
  describeLimit,
  moreBudget,
  describeReason,
  REFUSALS,
  describeSource,
  describeStart,
  describeStep,
  describeWait,
} from './describe.ts'

const TAIL_LINES = 10

/** Shows a run as lines for people, between the output of the agents. */
export class PlainView implements View {
  readonly #screen: Output
  readonly #verbose: boolean
  #state: RunState
  readonly #here: string | undefined
  readonly #tasks: TaskLines
  #pendingText = ''
  /** The start of a step, which is not shown if its condition skips it. */
  #pendingStart: EventOf<'step_started'> | undefined
  /** Steps of which it is not known that no marker was printed, or that need none. */
  readonly #maybeMarked = new Set<number>()

  /** `state` is the state before a resume; `here` is the folder of the reader. */
  constructor(screen: Output, verbose: boolean, state = NO_EVENTS, here?: string) {
    this.#screen = screen
    this.#verbose = verbose
    this.#state = state
    this.#here = here
    this.#tasks = new TaskLines(screen)
  }

  show(event: RunEvent, state = next(this.#state, event)): void {
    this.#state = state
    if (event.type !== 'message' && event.type !== 'tool') void this.#writePending()
    const isSkipping = event.type === 'step_ended' && event.passed === true
    const isCondition = event.type === 'command' && event.role === 'when'
    if (!isCondition) this.#showStart(!isSkipping)
    switch (event.type) {
      case 'run_started':
        return this.#detail(`Run ${event.run} in ${event.cwd}, record: ${event.record ?? 'none'}`)
      case 'run_resumed':
        for (const { number, iterations } of state.steps)
          if (iterations > 0) this.#maybeMarked.add(number)
        return this.#say(`Resuming run ${event.run}${this.#describeResumePoint(event)}`)
      case 'step_started':
        this.#pendingStart = event
        return
      case 'command':
        if (event.role === 'until' && event.step !== undefined) this.#maybeMarked.add(event.step)
        return this.#showCommand(event)
      case 'waiting':
        this.#warn(ofTask(event.task, describeWait(event, Date.parse(event.at))))
        return this.#warn(`To retry now: ${this.#command(`retry-now ${event.run}`)}`)
      case 'waited':
        if (event.cause === 'stopped') return
        return this.#say(
          ofTask(event.task, event.cause === 'over' ? 'The wait is over' : 'Retrying now'),
        )
      case 'jump':
        return this.#warn(
          `S${this.#describeStep(event.step).slice(1)} failed: continuing at ${this.#describeStep(event.to)} (${event.count}/${event.times})`,
        )
      case 'iteration_started':
        if (this.#step(event).maxIterations !== undefined) this.#say(this.#iteration(event))
        if (event.argv !== undefined) this.#detail(`  command: ${JSON.stringify(event.argv)}`)
        return this.#detail(`  prompt from: ${describeSource(event.prompt)}`)
      case 'message':
        return this.#addAgentText(event, event.text)
      case 'tool':
        return this.#addAgentText(event, `[${event.name}] ${event.brief}`.trimEnd())
      case 'tool_ended':
        return this.#showToolEnd(event)
      case 'limit':
        if (event.status !== 'allowed') this.#warn(ofTask(event.task, describeLimit(event)))
        return
      case 'marker_refused':
        this.#maybeMarked.add(event.step)
        return this.#say(`Marker ignored: ${REFUSALS[event.why]}`)
      case 'iteration_ended':
        return this.#endIteration(event)
      case 'step_ended':
        if (event.reason === 'marker')
          this.#say(`Complete after ${counted(event.iterations, 'iteration')}`)
        if (event.reason === 'until' && event.iterations === 0)
          this.#say(`Not started: ${this.#nameOf(event)} (${event.detail})`)
        else if (event.reason === 'until')
          this.#say(`Complete after ${counted(event.iterations, 'iteration')}: ${event.detail}`)
        if (event.reason === 'max_iterations')
          this.#say(`Not complete after ${counted(event.iterations, 'iteration')}`)
        if (event.passed === true) this.#say(`Skipped: ${this.#nameOf(event)} (${event.detail})`)
        return
      case 'phase_ended':
        return this.#showPhase(event)
      case 'task_started':
        this.#say(describeTaskStart(event))
        if (event.argv !== undefined) this.#detail(`  command: ${JSON.stringify(event.argv)}`)
        return
      case 'task_ended':
        this.#tasks.end(event.task)
        return event.success
          ? this.#say(describeTaskEnd(event))
          : this.#warn(describeTaskEnd(event))
      case 'crew_started':
        return this.#detail(`Processing the queue of run ${event.run}`)
      case 'warning':
        return this.#warn(`Warning: ${event.text}`)
      case 'record_lost':
        return this.#warn(`Warning: ${describeLost(event)}`)
      case 'run_ended':
        return this.#summarize()
      case 'crew_ended':
      case 'dry_run':
      case 'run_refused':
      case 'output':
        return
      default:
        // A journal may have been written by a later version.
        event satisfies never
    }
  }

  #showStart(isShown: boolean): void {
    const event = this.#pendingStart
    if (event === undefined) return
    this.#pendingStart = undefined
    if (event.step > 1 || event.round !== undefined) this.#screen.line('')
    if (isShown) this.#say(describeStart(event, this.#nameOf(event)))
  }

  tick(now: number): void {
    this.#showStart(true)
    const { waiting } = this.#state
    if (waiting !== undefined) this.#screen.status?.(`[forkhestra] ${describeWait(waiting, now)}`)
  }

  output(chunk: OutputChunk): void | Promise<void> {
    const { stream, bytes, isInEvents, task } = chunk
    this.#showStart(true)
    const written = this.#writePending()
    if (task !== undefined) {
      if (isInEvents !== true && this.#verbose) this.#tasks.print(task, bytes)
      return written
    }
    return isInEvents === true ? written : this.#screen.bytes(stream, bytes)
  }

  /** Writes everything that one piece of output reported at once. */
  #writePending(): void | Promise<void> {
    const text = this.#pendingText
    this.#pendingText = ''
    if (text !== '') return this.#screen.bytes('out', Buffer.from(text))
  }

  /** What an agent says and does; that of its sub-agents only with --verbose. */
  #addAgentText(
    { parent, task }: { readonly parent?: string | undefined; readonly task?: string | undefined },
    text: string,
  ): void {
    if ((parent !== undefined || task !== undefined) && !this.#verbose) return
    if (task === undefined) this.#pendingText += `${text}\n`
    else this.#tasks.say(task, text)
  }

  /** Shows failed tools, and with --verbose their changes. */
  #showToolEnd(event: EventOf<'tool_ended'>): void {
    const { name, error, diff } = event
    if (error !== undefined) this.#addAgentText(event, `[${name}] failed: ${error}`)
    if (diff !== undefined && this.#verbose) this.#addAgentText(event, diff.trimEnd())
  }

  #endIteration(event: EventOf<'iteration_ended'>): void {
    const { maxIterations } = this.#step(event)
    const name = this.#nameOf(event)
    const how = describeOutcome(event.outcome)
    const isLoop = maxIterations !== undefined
    if (event.outcome.kind === 'spawn_failed') this.#warn(`Error: ${name}: ${event.outcome.error}`)
    else if (!isLoop && how !== '') this.#say(`Done: ${name} (${how})`)
    else if (isLoop && how !== '' && how !== 'exit 0')
      this.#warn(`${this.#iteration(event)}: ${how}`)
    const denied = event.usage?.denied ?? 0
    if (denied > 0)
      this.#warn(
        `${counted(denied, 'tool call')} denied: an unattended run cannot ask for permission`,
      )
    this.#detail(`  took ${(event.ms / 1000).toFixed(1)} s, printed ${event.outputBytes} bytes`)
  }

  /** A failed hook is a warning; the output of a failed check shows what to fix. */
  #showCommand({ role, command, result, detail, tail = '' }: EventOf<'command'>): void {
    if (result === 'ok') return this.#detail(`  ${role}: ${command} (${detail})`)
    if (role === 'when' || role === 'until') {
      if (result === 'failed') return this.#detail(`  ${role}: ${command} (${detail})`)
    }
    const name = role === 'verify' ? 'Check failed' : `Warning: ${role} failed`
    this.#warn(`${name}: ${command} (${detail})`)
    const lines = printableLines(tail).trimEnd().split('\n').slice(-TAIL_LINES)
    if (tail !== '') for (const line of lines) this.#screen.warn(`  | ${line}`)
  }

  #showPhase({ phase, pushed, started, held }: EventOf<'phase_ended'>): void {
    if (pushed.length > 0) this.#detail(`  ${phase}: queued ${pushed.join(', ')}`)
    if (started.length > 0) this.#detail(`  ${phase}: started ${started.join(', ')}`)
    if (held > 0) this.#warn(`${describeQueued(held)}: the limit of running tasks is reached`)
  }

  #summarize(): void {
    const { ended, record, spent } = this.#state
    const steps = this.#state.steps.filter((step) => !step.isRecovery || step.rounds > 0)
    for (const { pid, command, survived } of ended?.leftovers ?? []) {
      if (survived) this.#warn(`Could not end a leftover process: ${command} (pid ${pid})`)
      else this.#say(`Ended a leftover process: ${command} (pid ${pid})`)
    }
    // A queue without a chain: its tasks are already reported.
    if (this.#state.steps.length === 0) return
    this.#screen.line('')
    const notes = notesOn(this.#state)
    if (steps.length > 1 || notes.some(({ isOfStep }) => isOfStep) || !ended?.ok) {
      for (const step of steps)
        this.#screen.line(`  ${step.number}. ${nameOf(step)}: ${describeStep(step)}`)
    }
    this.#say(this.#result())
    for (const words of steps.map(describeDeletedTasks)) if (words !== undefined) this.#warn(words)
    if (spent.costUsd > 0 || countTokens(spent) > 0) this.#say(`Spent: ${formatSpent(spent)}`)
    for (const { words, isOfStep } of notes) if (isOfStep !== true) this.#warn(`Note: ${words}`)
    const nexts = new Set(notes.map(({ next: [what, why] }) => `To ${why}: ${what}`))
    for (const line of nexts) this.#warn(line)
    const command = (words: string) => this.#command(words)
    for (const line of notQueuedLines(steps, record, command)) this.#warn(line)
    for (const line of describeLeftInQueue(ended?.queue, command)) this.#say(line)
    const failed = steps.find((step) => !isSettled(step) && !step.isRecovery)
    if (failed !== undefined) this.#showFailure(failed, record)
    else if (ended?.stopped !== undefined)
      this.#say(`The run was ${ended.stopped} after its last step`)
    else if (ended?.ok === false)
      this.#say(
        `All steps are complete, but the run failed (exit code ${ended.exitCode}); see above`,
      )
  }

  #result(): string {
    const steps = this.#state.steps.filter((step) => !step.isRecovery)
    const kind = steps.some((step) => step.maxIterations !== undefined) ? 'Chain' : 'Pipeline'
    const settled = steps.filter(isSettled).length
    const passed = steps.filter((step) => step.isPassed).length
    const state = settled === steps.length ? 'complete' : 'incomplete'
    const skipped = passed === 0 ? '' : `, ${passed} skipped`
    return `${kind} ${state} (${settled}/${steps.length} steps${skipped})`
  }

  #showFailure(failed: StepState, record: string | undefined): void {
    const place = `step ${failed.number}: ${nameOf(failed)}`
    const how = `Failed at ${place} (${describeReason(failed)})`
    if (failed.reason !== 'skipped') this.#screen.line(`[forkhestra] ${how}`, 'plain')
    else this.#say(`Stopped before ${place} (${this.#state.ended?.stopped ?? 'not started'})`)
    const { stopped } = this.#state.ended ?? {}
    const isNews = failed.reason !== 'skipped' && failed.reason !== 'interrupted'
    if (stopped !== undefined && isNews) this.#say(`Then the run was ${stopped}`)
    if (failed.maxIterations !== undefined && failed.failures > 0)
      this.#warn(describeFailing(failed))
    for (const line of describeBlockedTasks(failed)) this.#warn(line)
    const advice = adviceFor(failed, this.#maybeMarked.has(failed.number))
    if (advice !== undefined) this.#warn(advice)
    if (record === undefined) return
    this.#warn(`Record of the run: ${record}`)
    this.#warn(this.#describeResume(basename(record), failed))
  }

  #describeResume(run: string, failed: StepState): string {
    const { lacks } = this.#state
    if (lacks !== undefined && lacks.prompt !== true)
      return `Cannot be resumed: ${describeMissingSecrets(lacks)}. Start the chain again, with the secret in an environment variable`
    const prompt = lacks === undefined ? '' : ' --prompt TEXT'
    const again =
      lacks === undefined ? '' : `, with the same text: ${describeMissingSecrets(lacks)}`
    return `To resume: ${this.#command(`resume ${run}${prompt}`)}${moreBudget(failed)}${again}`
  }

  #iteration({ step, iteration }: { readonly step: number; readonly iteration: number }): string {
    return `Iteration ${iteration}/${this.#step({ step }).maxIterations}`
  }

  #step({ step }: { readonly step: number }): StepState {
    return stepAt(this.#state, step)
  }

  #nameOf(event: { readonly step: number }): string {
    const { name, agent } = this.#step(event)
    return name ?? agent
  }

  /** `step 2 (lint)`, or `step 2` if it has no name. */
  #describeStep(step: number): string {
    const { name } = this.#step({ step })
    return name === undefined ? `step ${step}` : `step ${step} (${name})`
  }

  #describeResumePoint({ step, iteration }: EventOf<'run_resumed'>): string {
    if (step === undefined) return ': nothing left to do'
    const place = this.#describeStep(step)
    return iteration === undefined
      ? ` at the end of ${place}`
      : ` at ${place}, iteration ${iteration}`
  }

  /** A command that works in the folder of the reader. */
  #command(words: string): string {
    const { cwd } = this.#state
    return `forkhestra ${words}${cwdOption(cwd, this.#here)}`
  }

  #say(text: string): void {
    this.#screen.line(`[forkhestra] ${text}`)
  }

  #warn(text: string): void {
    this.#screen.warn(`[forkhestra] ${text}`)
  }

  #detail(text: string): void {
    if (this.#verbose) this.#say(text)
  }
}

function nameOf({ name, agent }: StepState): string {
  return name === undefined ? agent : `${name} (${agent})`
}

function describeLost({ why, partly }: EventOf<'record_lost'>): string {
  return partly === true
    ? `the record is missing the end of the run (${why}); a resume would repeat that part`
    : `the run continues without a record: ${why}`
}
