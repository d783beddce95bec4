import { unreachable } from '../base/errors.ts'
import type { EventOf, OutputChunk } from '../events/event.ts'
import type { Reason, RunEvent } from '../events/schema.ts'
import { outcomeWords } from '../events/outcome-words.ts'
import { isComplete, NO_EVENTS, next, type RunState, type StepState } from '../events/state.ts'
import type { Screen, View } from './screen.ts'
import {
  failingWords,
  failureWords,
  iterations,
  limitWords,
  REFUSALS,
  sourceWords,
  stepWords,
} from './words.ts'

/** What helps, where the reason alone does not say it. */
const NEXT_STEPS: Partial<Record<Reason, string>> = {
  auth: 'See what is missing: forkhestra doctor',
  blocked: 'See what each task waits for: forge-tasks list --ready --explain',
}

/** Tells a run as lines for people, between what the agents print. */
export class PlainView implements View {
  readonly #screen: Screen
  readonly #verbose: boolean
  #state: RunState = NO_EVENTS
  /** What an agent has said and nobody has been shown yet. */
  #told = ''

  constructor(screen: Screen, verbose: boolean) {
    this.#screen = screen
    this.#verbose = verbose
  }

  show(event: RunEvent): void {
    this.#state = next(this.#state, event)
    if (event.type !== 'message' && event.type !== 'tool') void this.#tell()
    switch (event.type) {
      case 'run_started':
        return this.#detail(`Run ${event.run} in ${event.cwd}, record: ${event.record ?? 'none'}`)
      case 'step_started':
        if (event.step > 1) this.#screen.line('')
        return event.maxIterations === undefined
          ? this.#say(`Running: ${event.agent}`)
          : this.#say(`Starting: ${event.agent} (max ${iterations(event.maxIterations)})`)
      case 'iteration_started':
        if (this.#step(event).maxIterations !== undefined) this.#say(this.#iteration(event))
        if (event.argv !== undefined) this.#detail(`  command: ${JSON.stringify(event.argv)}`)
        return this.#detail(`  prompt from: ${sourceWords(event.prompt)}`)
      case 'message':
        return this.#tellAgent(event, event.text)
      case 'tool':
        return this.#tellAgent(event, `[${event.name}] ${event.brief}`.trimEnd())
      case 'limit':
        if (event.status !== 'allowed') this.#warn(limitWords(event))
        return
      case 'marker_refused':
        return this.#say(`Marker ignored: ${REFUSALS[event.why]}`)
      case 'iteration_ended':
        return this.#endIteration(event)
      case 'step_ended':
        if (event.reason === 'marker') this.#say(`Complete after ${iterations(event.iterations)}`)
        if (event.reason === 'until')
          this.#say(`Complete after ${iterations(event.iterations)}: ${event.detail}`)
        if (event.reason === 'max_iterations')
          this.#say(`Not complete after ${iterations(event.iterations)}`)
        return
      case 'warning':
        return this.#warn(`Warning: ${event.text}`)
      case 'record_lost':
        return this.#warn(`Warning: the run goes on without a record: ${event.why}`)
      case 'run_ended':
        return this.#summarize()
      case 'dry_run':
      case 'run_refused':
      case 'output':
        return
      default:
        unreachable(event)
    }
  }

  output({ stream, bytes, isTold }: OutputChunk): void | Promise<void> {
    const told = this.#tell()
    return isTold === true ? told : this.#screen.bytes(stream, bytes)
  }

  /** What one piece of output has told comes in one piece. */
  #tell(): void | Promise<void> {
    const text = this.#told
    this.#told = ''
    if (text !== '') return this.#screen.bytes('out', Buffer.from(text))
  }

  /** What an agent says and does; of its sub-agents only with --verbose. */
  #tellAgent({ parent }: { readonly parent?: string | undefined }, text: string): void {
    if (parent !== undefined && !this.#verbose) return
    this.#told += `${text}\n`
  }

  #endIteration(event: EventOf<'iteration_ended'>): void {
    const { agent, maxIterations } = this.#step(event)
    const how = outcomeWords(event.outcome)
    const isLoop = maxIterations !== undefined
    if (event.outcome.kind === 'spawn_failed') this.#warn(`Error: ${agent}: ${event.outcome.error}`)
    else if (!isLoop && how !== '') this.#say(`Done: ${agent} (${how})`)
    else if (isLoop && how !== '' && how !== 'exit 0')
      this.#warn(`${this.#iteration(event)}: ${how}`)
    const denied = event.usage?.denied ?? 0
    if (denied > 0)
      this.#warn(`${denied} calls of tools were denied: nobody is there to allow them`)
    this.#detail(`  took ${(event.ms / 1000).toFixed(1)} s, printed ${event.outputBytes} bytes`)
  }

  #summarize(): void {
    const { steps, ended, record } = this.#state
    for (const { pid, command, survived } of ended?.leftovers ?? []) {
      if (survived) this.#warn(`Could not end a process left running: ${command} (pid ${pid})`)
      else this.#say(`Ended a process left running: ${command} (pid ${pid})`)
    }
    this.#screen.line('')
    if (steps.length > 1 || !ended?.ok) {
      for (const step of steps)
        this.#screen.line(`  ${step.number}. ${step.agent}: ${stepWords(step)}`)
    }
    const kind = steps.some((step) => step.maxIterations !== undefined) ? 'Chain' : 'Pipeline'
    const complete = steps.filter((step) => isComplete(step.reason)).length
    const state = complete === steps.length ? 'complete' : 'incomplete'
    this.#say(`${kind} ${state} (${complete}/${steps.length} steps)`)
    const failed = steps.find((step) => !isComplete(step.reason))
    if (failed !== undefined) {
      const place = `step ${failed.number}: ${failed.agent}`
      if (failed.reason !== 'skipped') this.#say(`Failed at ${place} (${failureWords(failed)})`)
      else this.#say(`Stopped before ${place} (${ended?.stopped})`)
      if (failed.maxIterations !== undefined && failed.failures) this.#warn(failingWords(failed))
      const advice = NEXT_STEPS[failed.reason ?? 'skipped']
      if (advice !== undefined) this.#warn(advice)
      if (record !== undefined) this.#warn(`Record of the run: ${record}`)
    } else if (ended?.stopped !== undefined) {
      this.#say(`After the last step the run was ${ended.stopped}`)
    }
  }

  #iteration({ step, iteration }: { readonly step: number; readonly iteration: number }): string {
    return `Iteration ${iteration}/${this.#step({ step }).maxIterations}`
  }

  #step({ step }: { readonly step: number }): StepState {
    const found = this.#state.steps.find(({ number }) => number === step)
    return found ?? { number: step, agent: '', iterations: 0 }
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
