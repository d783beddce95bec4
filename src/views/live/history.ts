import { formatDuration } from '../../base/durations.ts'
import { printable, printableLines } from '../../base/terminal/printable.ts'
import { describeOutcome } from '../../records/events/describe-outcome.ts'
import type { EventOf } from '../../records/events/event.ts'
import type { GitChanges, Outcome, RunEvent, Usage } from '../../records/events/schema.ts'
import { isFailure } from '../../records/events/step-state.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { iterationPath, scopeKey, taskPath } from '../../records/journal/paths.ts'
import { describeTaskEnd } from '../describe-task.ts'
import { describeLimit, describeWait, REFUSALS } from '../describe.ts'
import { describeEnding } from '../attempts.ts'
import type { LogLine } from './log-lines.ts'

/** One start of the agent of a step, or of a sub-agent. */
export interface Attempt {
  /** The path of its log in the record, which identifies it. */
  readonly key: string
  readonly scope: readonly string[]
  /** The key of its step. */
  readonly step: string
  readonly number: number
  readonly round: number
  readonly iteration: number
  readonly attempt: number
  /** The name of a sub-agent. */
  readonly task?: string
  readonly isStructured?: boolean | undefined
  readonly promptHash?: string | undefined
  readonly startedAt: number
  /** Where its events begin in the journal. */
  readonly from: number
  /** The file with its output. */
  log: string
  to?: number
  ms?: number
  outcome?: Outcome
  /** How a sub-agent ended. */
  success?: boolean
  usage?: Usage | undefined
  changes?: GitChanges | undefined
  claimed?: { readonly id: string; readonly title?: string | undefined }
  gate?: EventOf<'command'>
  tool?: EventOf<'tool'> | undefined
  /** What happened around the agent's own output. */
  readonly notes: LogLine[]
  readonly subAgents: Attempt[]
}

const TAIL_LINES = 20
const MOST_WARNINGS = 20

/** What the events say about each attempt; `RunState` has only the newest of each step. */
export class History {
  /** By the key of the step, in the order of their starts. */
  readonly attempts = new Map<string, Attempt[]>()
  /** Sub-agents of a queue without steps. */
  readonly orphans: Attempt[] = []
  readonly warnings: string[] = []
  /** The newest attempt of each scope. */
  readonly #byScope = new Map<string, Attempt>()
  readonly #logs = new Map<string, number>()

  /** An event, and where its line begins and ends in the journal. */
  take(event: RunEvent, from: number, to: number): void {
    switch (event.type) {
      case 'iteration_started':
        return this.#begin(event, from)
      case 'task_started':
        return this.#beginTask(event, from)
      case 'output':
        return event.log === undefined ? undefined : this.#change(event, { log: event.log })
      case 'claimed':
        return this.#change(event, { claimed: event })
      case 'tool':
        return this.#change(event, { tool: event })
      case 'tool_ended': {
        const attempt = this.find(event.scope)
        if (attempt?.tool?.name === event.name) attempt.tool = undefined
        return
      }
      case 'command':
        return this.#noteCommand(event)
      case 'marker_refused':
        return this.#note(event, `Marker ignored: ${REFUSALS[event.why]}`)
      case 'limit':
        if (event.status !== 'allowed') this.#note(event, describeLimit(event))
        return
      case 'waiting':
        return this.#note(event, describeWait(event, Date.parse(event.at)))
      case 'iteration_ended':
        this.#change(event, { ...endOf(event, to), outcome: event.outcome, changes: event.changes })
        return this.#note(event, describeEnd(event), isFailure(event.outcome))
      case 'task_ended':
        this.#change(event, { ...endOf(event, to), success: event.success })
        return this.#note(event, describeTaskEnd(event), !event.success)
      case 'run_resumed':
        // What was open when the process died has not ended, and does not run.
        for (const attempt of this.#byScope.values()) attempt.to ??= from
        return
      case 'warning':
        this.warnings.push(printable(event.text))
        if (this.warnings.length > MOST_WARNINGS) this.warnings.shift()
    }
  }

  find(scope: readonly string[]): Attempt | undefined {
    return this.#byScope.get(scopeKey(scope))
  }

  of(step: string): readonly Attempt[] {
    return this.attempts.get(step) ?? []
  }

  #begin(event: EventOf<'iteration_started'>, from: number): void {
    const attempt = makeAttempt(event, from, this.#nameLog(iterationPath(event)))
    const { step } = attempt
    const all = this.attempts.get(step)
    if (all === undefined) this.attempts.set(step, [attempt])
    else all.push(attempt)
    this.#byScope.set(scopeKey(event.scope), attempt)
  }

  #beginTask(event: EventOf<'task_started'>, from: number): void {
    const { task, isStructured = false } = event
    const log = this.#nameLog(taskPath(task, event.attempt))
    const attempt = { ...makeAttempt(event, from, log), task, isStructured }
    const parent = this.of(attempt.step).at(-1)
    ;(parent?.subAgents ?? this.orphans).push(attempt)
    this.#byScope.set(scopeKey(event.scope), attempt)
  }

  /** An attempt that is repeated after a crash has a new log. */
  #nameLog(path: string): string {
    const count = (this.#logs.get(path) ?? 0) + 1
    this.#logs.set(path, count)
    return count === 1 ? `${path}.log` : `${path}.again-${count}.log`
  }

  #change(event: { readonly scope: readonly string[] }, fields: Partial<Attempt>): void {
    const attempt = this.find(event.scope)
    if (attempt !== undefined) Object.assign(attempt, fields)
  }

  #note({ scope }: { readonly scope: readonly string[] }, text: string, isBad = false): void {
    this.find(scope)?.notes.push({ text, kind: isBad ? 'failure' : 'own' })
  }

  #noteCommand(event: EventOf<'command'>): void {
    const { scope, iteration, role, command, result, detail, ms, tail = '' } = event
    const attempt = this.of(keyOfScope(scope)).at(-1)
    if (attempt === undefined || attempt.iteration !== iteration) return
    if (role === 'verify') attempt.gate = event
    const name = role === 'verify' ? 'gate' : role
    const text = `${name} ${result}: ${command} (${detail}, ${formatDuration(ms)})`
    attempt.notes.push({ text, kind: result === 'ok' ? 'own' : 'failure' })
    if (tail === '') return
    const lines = printableLines(tail).trimEnd().split('\n').slice(-TAIL_LINES)
    for (const line of lines) attempt.notes.push({ text: `| ${line}`, kind: 'output' })
  }
}

function makeAttempt(
  event: EventOf<'iteration_started'> | EventOf<'task_started'>,
  from: number,
  log: string,
): Attempt {
  const { scope, step: number, round = 1, iteration, attempt, promptHash, at } = event
  const place = { scope, step: keyOfScope(scope), number, round, iteration, attempt }
  const startedAt = Date.parse(at)
  return { key: log, ...place, promptHash, startedAt, from, log, notes: [], subAgents: [] }
}

function endOf({ ms, usage }: EventOf<'iteration_ended'> | EventOf<'task_ended'>, to: number) {
  return { ms, usage, to, tool: undefined }
}

function describeEnd({ outcome, ms }: EventOf<'iteration_ended'>): string {
  const words = outcome.kind === 'marker' ? 'marker' : describeOutcome(outcome)
  return `Iteration ended: ${printable(words || describeEnding(outcome))} (${formatDuration(ms)})`
}
