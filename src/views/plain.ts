import { basename } from 'node:path'
import { stayWords } from '../base/amounts.ts'
import { printableLines } from '../base/printable.ts'
import type { EventOf, OutputChunk } from '../events/event.ts'
import type { RunEvent } from '../events/schema.ts'
import { outcomeWords } from '../events/outcome-words.ts'
import { countTokens } from '../events/spent.ts'
import { NO_EVENTS, next, stepAt, type RunState } from '../events/state.ts'
import { isSettled, type StepState } from '../events/step-state.ts'
import { spentWords } from './amounts.ts'
import { notesOn } from './notes.ts'
import type { Screen, View } from './screen.ts'
import {
  leftWords,
  notQueuedLines,
  ofTask,
  TaskLines,
  taskEndedWords,
  taskStartedWords,
} from './task-words.ts'
import {
  adviceFor,
  cwdOption,
  deletedTasksWords,
  failingWords,
  iterations,
  lacksWords,
  limitWords,
  moreBudget,
  reasonWords,
  REFUSALS,
  sourceWords,
  startWords,
  stepWords,
  waitWords,
} from './words.ts'

/** So many lines of what a failed check printed are shown. */
const TAIL_LINES = 10

/** Tells a run as lines for people, between what the agents print. */
export class PlainView implements View {
  readonly #screen: Screen
  readonly #verbose: boolean
  #state: RunState
  readonly #here: string | undefined
  readonly #tasks: TaskLines
  /** What an agent has said and nobody has been shown yet. */
  #told = ''

  /** `state` is what was before, where a run goes on; `here` the folder of whoever reads this. */
  constructor(screen: Screen, verbose: boolean, state = NO_EVENTS, here?: string) {
    this.#screen = screen
    this.#verbose = verbose
    this.#state = state
    this.#here = here
    this.#tasks = new TaskLines(screen)
  }

  show(event: RunEvent, state = next(this.#state, event)): void {
    this.#state = state
    if (event.type !== 'message' && event.type !== 'tool') void this.#tell()
    switch (event.type) {
      case 'run_started':
        return this.#detail(`Run ${event.run} in ${event.cwd}, record: ${event.record ?? 'none'}`)
      case 'run_resumed':
        return this.#say(`Resuming run ${event.run}${this.#placeWords(event)}`)
      case 'step_started': {
        if (event.step > 1 || event.round !== undefined) this.#screen.line('')
        return this.#say(startWords(event, this.#nameOf(event)))
      }
      case 'command':
        return this.#tellCommand(event)
      case 'waiting':
        this.#warn(ofTask(event.task, waitWords(event, Date.parse(event.at))))
        return this.#warn(`To try at once: ${this.#command(`retry-now ${event.run}`)}`)
      case 'waited':
        if (event.cause === 'stopped') return
        return this.#say(
          ofTask(event.task, event.cause === 'over' ? 'The wait is over' : 'Trying again at once'),
        )
      case 'jump':
        return this.#warn(
          `S${this.#stepWords(event.step).slice(1)} failed: continuing at ${this.#stepWords(event.to)} (${event.count}/${event.times})`,
        )
      case 'iteration_started':
        if (this.#step(event).maxIterations !== undefined) this.#say(this.#iteration(event))
        if (event.argv !== undefined) this.#detail(`  command: ${JSON.stringify(event.argv)}`)
        return this.#detail(`  prompt from: ${sourceWords(event.prompt)}`)
      case 'message':
        return this.#tellAgent(event, event.text)
      case 'tool':
        return this.#tellAgent(event, `[${event.name}] ${event.brief}`.trimEnd())
      case 'tool_ended':
        return this.#tellToolEnd(event)
      case 'limit':
        if (event.status !== 'allowed') this.#warn(ofTask(event.task, limitWords(event)))
        return
      case 'marker_refused':
        return this.#say(`Marker ignored: ${REFUSALS[event.why]}`)
      case 'iteration_ended':
        return this.#endIteration(event)
      case 'step_ended':
        if (event.reason === 'marker') this.#say(`Complete after ${iterations(event.iterations)}`)
        if (event.reason === 'until' && event.iterations === 0)
          this.#say(`Not started: ${this.#nameOf(event)} (${event.detail})`)
        else if (event.reason === 'until')
          this.#say(`Complete after ${iterations(event.iterations)}: ${event.detail}`)
        if (event.reason === 'max_iterations')
          this.#say(`Not complete after ${iterations(event.iterations)}`)
        if (event.passed === true) this.#say(`Skipped: ${this.#nameOf(event)} (${event.detail})`)
        return
      case 'phase_ended':
        return this.#tellPhase(event)
      case 'task_started':
        this.#say(taskStartedWords(event))
        if (event.argv !== undefined) this.#detail(`  command: ${JSON.stringify(event.argv)}`)
        return
      case 'task_ended':
        this.#tasks.end(event.task)
        return event.success ? this.#say(taskEndedWords(event)) : this.#warn(taskEndedWords(event))
      case 'crew_started':
        return this.#detail(`Working off the queue of run ${event.run}`)
      case 'warning':
        return this.#warn(`Warning: ${event.text}`)
      case 'record_lost':
        return this.#warn(`Warning: ${lostWords(event)}`)
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

  tick(now: number): void {
    const { waiting } = this.#state
    if (waiting !== undefined) this.#screen.status?.(`[forkhestra] ${waitWords(waiting, now)}`)
  }

  output(chunk: OutputChunk): void | Promise<void> {
    const { stream, bytes, isTold, task } = chunk
    const told = this.#tell()
    if (task !== undefined) {
      if (isTold !== true && this.#verbose) this.#tasks.print(task, bytes)
      return told
    }
    return isTold === true ? told : this.#screen.bytes(stream, bytes)
  }

  /** What one piece of output has told comes in one piece. */
  #tell(): void | Promise<void> {
    const text = this.#told
    this.#told = ''
    if (text !== '') return this.#screen.bytes('out', Buffer.from(text))
  }

  /** What an agent says and does; of its sub-agents only with --verbose. */
  #tellAgent(
    { parent, task }: { readonly parent?: string | undefined; readonly task?: string | undefined },
    text: string,
  ): void {
    if ((parent !== undefined || task !== undefined) && !this.#verbose) return
    if (task === undefined) this.#told += `${text}\n`
    else this.#tasks.say(task, text)
  }

  /** That a tool did its work is no news; what it changed is, for who wants to see all. */
  #tellToolEnd(event: EventOf<'tool_ended'>): void {
    const { name, error, diff } = event
    if (error !== undefined) this.#tellAgent(event, `[${name}] failed: ${error}`)
    if (diff !== undefined && this.#verbose) this.#tellAgent(event, diff.trimEnd())
  }

  #endIteration(event: EventOf<'iteration_ended'>): void {
    const { maxIterations } = this.#step(event)
    const name = this.#nameOf(event)
    const how = outcomeWords(event.outcome)
    const isLoop = maxIterations !== undefined
    if (event.outcome.kind === 'spawn_failed') this.#warn(`Error: ${name}: ${event.outcome.error}`)
    else if (!isLoop && how !== '') this.#say(`Done: ${name} (${how})`)
    else if (isLoop && how !== '' && how !== 'exit 0')
      this.#warn(`${this.#iteration(event)}: ${how}`)
    const denied = event.usage?.denied ?? 0
    if (denied > 0)
      this.#warn(`${denied} calls of tools were denied: nobody is there to allow them`)
    this.#detail(`  took ${(event.ms / 1000).toFixed(1)} s, printed ${event.outputBytes} bytes`)
  }

  /** A hook that fails is a warning; what a check printed says what is to be mended. */
  #tellCommand({ role, command, result, detail, tail = '' }: EventOf<'command'>): void {
    if (result === 'ok') return this.#detail(`  ${role}: ${command} (${detail})`)
    if (role === 'when' || role === 'until') {
      if (result === 'failed') return this.#detail(`  ${role}: ${command} (${detail})`)
    }
    const name = role === 'verify' ? 'Check failed' : `Warning: ${role} failed`
    this.#warn(`${name}: ${command} (${detail})`)
    const lines = printableLines(tail).trimEnd().split('\n').slice(-TAIL_LINES)
    if (tail !== '') for (const line of lines) this.#screen.warn(`  | ${line}`)
  }

  #tellPhase({ phase, pushed, started, held }: EventOf<'phase_ended'>): void {
    if (pushed.length > 0) this.#detail(`  ${phase}: queued ${pushed.join(', ')}`)
    if (started.length > 0) this.#detail(`  ${phase}: started ${started.join(', ')}`)
    if (held > 0) this.#warn(`${stayWords(held)}: no more may run at once`)
  }

  #summarize(): void {
    const { ended, record, spent } = this.#state
    const steps = this.#state.steps.filter((step) => !step.isRecovery || step.rounds > 0)
    for (const { pid, command, survived } of ended?.leftovers ?? []) {
      if (survived) this.#warn(`Could not end a process left running: ${command} (pid ${pid})`)
      else this.#say(`Ended a process left running: ${command} (pid ${pid})`)
    }
    // What a person has queued without a run: its tasks are told, and nothing was carried out.
    if (this.#state.steps.length === 0) return
    this.#screen.line('')
    const notes = notesOn(this.#state)
    if (steps.length > 1 || notes.some(({ isOfStep }) => isOfStep) || !ended?.ok) {
      for (const step of steps)
        this.#screen.line(`  ${step.number}. ${nameOf(step)}: ${stepWords(step)}`)
    }
    this.#say(this.#result())
    for (const words of steps.map(deletedTasksWords)) if (words !== undefined) this.#warn(words)
    if (spent.costUsd > 0 || countTokens(spent) > 0) this.#say(`Spent: ${spentWords(spent)}`)
    for (const { words, isOfStep } of notes) if (isOfStep !== true) this.#warn(`Note: ${words}`)
    const nexts = new Set(notes.map(({ next: [what, why] }) => `To ${why}: ${what}`))
    for (const line of nexts) this.#warn(line)
    const command = (words: string) => this.#command(words)
    for (const line of notQueuedLines(steps, record, command)) this.#warn(line)
    for (const line of leftWords(ended?.queue, command)) this.#say(line)
    const failed = steps.find((step) => !isSettled(step) && !step.isRecovery)
    if (failed !== undefined) this.#tellFailure(failed, record)
    else if (ended?.stopped !== undefined)
      this.#say(`After the last step the run was ${ended.stopped}`)
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

  /** Why, what helps, and how to go on. */
  #tellFailure(failed: StepState, record: string | undefined): void {
    const place = `step ${failed.number}: ${nameOf(failed)}`
    if (failed.reason !== 'skipped') this.#say(`Failed at ${place} (${reasonWords(failed)})`)
    else this.#say(`Stopped before ${place} (${this.#state.ended?.stopped ?? 'not begun'})`)
    const { stopped } = this.#state.ended ?? {}
    const isNews = failed.reason !== 'skipped' && failed.reason !== 'interrupted'
    if (stopped !== undefined && isNews) this.#say(`Then the run was ${stopped}`)
    if (failed.maxIterations !== undefined && failed.failures > 0) this.#warn(failingWords(failed))
    const advice = adviceFor(failed)
    if (advice !== undefined) this.#warn(advice)
    if (record === undefined) return
    this.#warn(`Record of the run: ${record}`)
    this.#warn(this.#resumeWords(basename(record), failed))
  }

  #resumeWords(run: string, failed: StepState): string {
    const { lacks } = this.#state
    if (lacks !== undefined && lacks.prompt !== true)
      return `It cannot be resumed: ${lacksWords(lacks)}. Start it again, with that in a variable of the environment`
    const prompt = lacks === undefined ? '' : ' --prompt TEXT'
    const again = lacks === undefined ? '' : `, with the same text: ${lacksWords(lacks)}`
    return `To go on: ${this.#command(`resume ${run}${prompt}`)}${moreBudget(failed)}${again}`
  }

  #iteration({ step, iteration }: { readonly step: number; readonly iteration: number }): string {
    return `Iteration ${iteration}/${this.#step({ step }).maxIterations}`
  }

  #step({ step }: { readonly step: number }): StepState {
    return stepAt(this.#state, step)
  }

  /** A step by its name, or by its agent where it has none. */
  #nameOf(event: { readonly step: number }): string {
    const { name, agent } = this.#step(event)
    return name ?? agent
  }

  /** `step 2 (lint)`, or `step 2` where it has no name. */
  #stepWords(step: number): string {
    const { name } = this.#step({ step })
    return name === undefined ? `step ${step}` : `step ${step} (${name})`
  }

  #placeWords({ step, iteration }: EventOf<'run_resumed'>): string {
    if (step === undefined) return ', nothing is left to do'
    const place = this.#stepWords(step)
    return iteration === undefined
      ? ` at the end of ${place}`
      : ` at ${place}, iteration ${iteration}`
  }

  /** As it can be typed in the folder of the reader. */
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

function lostWords({ why, partly }: EventOf<'record_lost'>): string {
  return partly === true
    ? `the record lacks the end of the run (${why}): resume would do again what is missing`
    : `the run goes on without a record: ${why}`
}
