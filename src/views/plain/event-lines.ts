import { counted, describeQueued } from '../../base/amounts.ts'
import { printable, printableLines } from '../../base/terminal/printable.ts'
import { branchName } from '../../records/events/branch-name.ts'
import { describeOutcome } from '../../records/events/describe-outcome.ts'
import type { EventOf, OutputChunk } from '../../records/events/event.ts'
import type { Reason, RunEvent } from '../../records/events/schema.ts'
import { stepOf, type RunState } from '../../records/events/state.ts'
import { type StepState } from '../../records/events/step-state.ts'
import { waitsOf } from '../../records/events/waits.ts'
import { describeTaskEnd, describeTaskStart, prefixTask } from '../describe-task.ts'
import {
  describeLimit,
  describeReason,
  describeSource,
  describeStart,
  describeWait,
  REFUSALS,
} from '../describe.ts'
import type { Reader } from '../merges.ts'
import { openBranches } from '../runs.ts'
import type { Output } from '../view.ts'
import { showBranch } from './branch-lines.ts'
import { AgentText } from './agent-text.ts'
import { Headings } from './headings.ts'
import { OwnLines } from './own-lines.ts'

const TAIL_LINES = 10

/** Shown at once, because the other branches may run for a long time before the summary. */
const ENDED_EARLY: ReadonlySet<Reason> = new Set(['blocked', 'stalled', 'quota', 'auth', 'error'])

/** A step and, if known, which instance of it. */
interface MaybePlaced {
  readonly step: number
  readonly scope?: readonly string[] | undefined
}

/** Shared by the lines of all branches of a run. */
export interface SharedLines {
  readonly state: RunState
  readonly isVerbose: boolean
  /** Keys of the steps that may have printed a marker, or that need none. */
  readonly maybeMarked: Set<string>
  /** A command that works in the folder of the reader. */
  readonly command: (words: string) => string
  readonly reader: () => Reader
}

/** Shows the events and the output of a run, or of one of its branches. */
export class EventLines {
  readonly #screen: Output
  readonly #shared: SharedLines
  readonly #lines: OwnLines
  readonly #agent: AgentText
  readonly #headings: Headings
  readonly #isBranch: boolean

  constructor(screen: Output, shared: SharedLines, isBranch: boolean) {
    this.#screen = screen
    this.#shared = shared
    this.#lines = new OwnLines(screen, shared.isVerbose)
    this.#agent = new AgentText(screen, shared.isVerbose)
    this.#headings = new Headings(screen, this.#lines, isBranch)
    this.#isBranch = isBranch
  }

  show(event: RunEvent): void {
    if (event.type !== 'message' && event.type !== 'tool') void this.#agent.flush()
    switch (event.type) {
      case 'run_started':
        return this.#lines.detail(
          `Run ${event.run} in ${event.cwd}, record: ${event.record ?? 'none'}`,
        )
      case 'run_resumed':
        for (const { key, iterations } of this.#shared.state.steps)
          if (iterations > 0) this.#shared.maybeMarked.add(key)
        return this.#lines.say(`Resuming run ${event.run}${this.#describeResumePoint(event)}`)
      case 'step_started':
        // The result of its condition comes later.
        if (event.when === undefined) this.#showStart(event)
        return
      case 'command':
        this.#showCommand(event)
        if (event.role === 'when' && event.step !== undefined)
          this.#showStart({ ...event, step: event.step }, event.result === 'failed')
        return
      case 'awaiting_task':
        return this.#lines.say('No task is ready yet: waiting for the other agents')
      case 'waiting':
        this.#lines.warn(prefixTask(event.task, describeWait(event, Date.parse(event.at))))
        // One command ends all waits.
        if (this.#isBranch && waitsOf(this.#shared.state).length > 1) return
        return this.#lines.warn(`To retry now: ${this.#shared.command(`retry-now ${event.run}`)}`)
      case 'waited':
        if (event.cause === 'stopped') return
        return this.#lines.say(
          prefixTask(event.task, event.cause === 'over' ? 'The wait is over' : 'Retrying now'),
        )
      case 'jump':
        return this.#lines.warn(
          `Step ${this.#describeStep(event.step)} failed: continuing at step ${this.#describeStep(event.to)} (${event.count}/${event.times})`,
        )
      case 'iteration_started':
        if (this.#step(event).maxIterations !== undefined) this.#lines.say(this.#iteration(event))
        if (event.argv !== undefined) this.#lines.detail(`  command: ${JSON.stringify(event.argv)}`)
        return this.#lines.detail(`  prompt from: ${describeSource(event.prompt)}`)
      case 'message':
        return this.#agent.message(event)
      case 'tool':
        return this.#agent.tool(event)
      case 'tool_ended':
        return this.#agent.toolEnd(event)
      case 'limit':
        if (event.status !== 'allowed')
          this.#lines.warn(prefixTask(event.task, describeLimit(event)))
        return
      case 'marker_refused':
        this.#shared.maybeMarked.add(this.#step(event).key)
        return this.#lines.say(`Marker ignored: ${REFUSALS[event.why]}`)
      case 'iteration_ended':
        // Even after a marker, work that cannot be merged is sent back.
        if (event.outcome.kind === 'marker') this.#shared.maybeMarked.add(this.#step(event).key)
        return this.#endIteration(event)
      case 'step_ended':
        if (event.reason === 'marker')
          this.#lines.say(`Complete after ${counted(event.iterations, 'iteration')}`)
        if (event.reason === 'until' && event.iterations === 0)
          this.#lines.say(`Not started: ${this.#nameOf(event)} (${event.detail})`)
        else if (event.reason === 'until')
          this.#lines.say(
            `Complete after ${counted(event.iterations, 'iteration')}: ${event.detail}`,
          )
        if (event.reason === 'max_iterations')
          this.#lines.say(`Not complete after ${counted(event.iterations, 'iteration')}`)
        if (event.passed === true)
          this.#lines.say(`Skipped: ${this.#nameOf(event)} (${event.detail})`)
        else if (this.#isBranch && ENDED_EARLY.has(event.reason))
          this.#lines.warn(`Ended: ${describeReason(stepOf(this.#shared.state, event))}`)
        return
      case 'phase_ended':
        return this.#showPhase(event)
      case 'task_started':
        this.#lines.say(describeTaskStart(event))
        if (event.argv !== undefined) this.#lines.detail(`  command: ${JSON.stringify(event.argv)}`)
        return
      case 'task_ended':
        this.#agent.endTask(event.task)
        return event.success
          ? this.#lines.say(describeTaskEnd(event))
          : this.#lines.warn(describeTaskEnd(event))
      case 'crew_started':
        return this.#lines.detail(`Processing the queue of run ${event.run}`)
      case 'warning':
        return this.#lines.warn(`Warning: ${event.text}`)
      case 'record_lost':
        return this.#lines.warn(`Warning: ${describeLost(event)}`)
      case 'group_started':
        return this.#headings.startGroup(event, this.#shared.state)
      case 'group_ended':
        return this.#headings.endGroup(event, this.#shared.state)
      case 'branch_started':
      case 'merge_started':
      case 'merge_ended':
      case 'branch_ended':
        return showBranch(event, this.#shared, this.#lines)
      case 'claimed':
      case 'command_started':
      case 'merge_moving':
      case 'run_ended':
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

  output(chunk: OutputChunk): void | Promise<void> {
    return this.#agent.output(chunk)
  }

  /** The heading of a part of the run. */
  begin(text: string, isLater: boolean): void {
    this.#headings.begin(text, isLater)
  }

  /** Shows that a step has started, unless its condition skips it. */
  #showStart(
    event: MaybePlaced & { readonly round?: number | undefined },
    isSkipped = false,
  ): void {
    const { step, round } = event
    const { maxIterations } = this.#step(event)
    const words = describeStart({ maxIterations, round }, this.#nameOf(event))
    this.#headings.begin(isSkipped ? undefined : words, step > 1 || round !== undefined)
  }

  #endIteration(event: EventOf<'iteration_ended'>): void {
    const { maxIterations } = this.#step(event)
    const name = this.#nameOf(event)
    const how = describeOutcome(event.outcome)
    const isLoop = maxIterations !== undefined
    if (event.outcome.kind === 'spawn_failed')
      this.#lines.warn(`Error: ${name}: ${event.outcome.error}`)
    else if (!isLoop && how !== '') this.#lines.say(`Done: ${name} (${how})`)
    else if (isLoop && how !== '' && how !== 'exit 0')
      this.#lines.warn(`${this.#iteration(event)}: ${how}`)
    const denied = event.usage?.denied ?? 0
    if (denied > 0)
      this.#lines.warn(
        `${counted(denied, 'tool call')} denied: an unattended run cannot ask for permission`,
      )
    this.#lines.detail(
      `  took ${(event.ms / 1000).toFixed(1)} s, printed ${event.outputBytes} bytes`,
    )
  }

  /** A failed hook is a warning; the output of a failed check shows what to fix. */
  #showCommand(event: EventOf<'command'>): void {
    const { role, step, scope, command, result, detail, tail = '' } = event
    if (role === 'until' && step !== undefined)
      this.#shared.maybeMarked.add(this.#step({ step, scope }).key)
    if (result === 'ok') return this.#lines.detail(`  ${role}: ${command} (${detail})`)
    if (role === 'when' || role === 'until') {
      if (result === 'failed') return this.#lines.detail(`  ${role}: ${command} (${detail})`)
    }
    const name = role === 'verify' ? 'Check failed' : `Warning: ${role} failed`
    this.#lines.warn(`${name}: ${command} (${detail})`)
    const lines = printableLines(tail).trimEnd().split('\n').slice(-TAIL_LINES)
    if (tail !== '') for (const line of lines) this.#screen.warn(`  | ${line}`)
  }

  #showPhase({ phase, pushed, started, held }: EventOf<'phase_ended'>): void {
    if (pushed.length > 0) this.#lines.detail(`  ${phase}: queued ${pushed.join(', ')}`)
    if (started.length > 0) this.#lines.detail(`  ${phase}: started ${started.join(', ')}`)
    if (held > 0) this.#lines.warn(`${describeQueued(held)}: the limit of running tasks is reached`)
  }

  #iteration({ iteration, ...place }: MaybePlaced & { readonly iteration: number }): string {
    return printable(`Iteration ${iteration}/${this.#step(place).maxIterations}`)
  }

  #step({ step, scope = [] }: MaybePlaced): StepState {
    return stepOf(this.#shared.state, { step, scope })
  }

  #nameOf(event: MaybePlaced): string {
    const { name, agent } = this.#step(event)
    return name ?? agent
  }

  /** `2 (lint)`, or `2` if the step has no name. */
  #describeStep(number: number): string {
    const { name } = this.#step({ step: number })
    return name === undefined ? `${number}` : `${number} (${name})`
  }

  #describeResumePoint({ step, iteration }: EventOf<'run_resumed'>): string {
    if (step === undefined) return ': nothing left to do'
    const { state } = this.#shared
    const open = openBranches(state).flatMap(({ key }) => branchName(state, key.split('/')) ?? [])
    const place = `step ${this.#describeStep(step)}`
    if (open.length > 1) return ` at ${place}: ${open.join(', ')}`
    return iteration === undefined
      ? ` at the end of ${place}`
      : ` at ${place}, iteration ${iteration}`
  }
}

function describeLost({ why, partly }: EventOf<'record_lost'>): string {
  return partly === true
    ? `the record is missing the end of the run (${why}); a resume would repeat that part`
    : `the run continues without a record: ${why}`
}
