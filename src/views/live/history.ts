import { formatDuration } from '../../base/durations.ts'
import { printable, printableLines } from '../../base/terminal/printable.ts'
import { Attempts, type Attempt } from '../../records/events/attempts.ts'
import type { EventOf } from '../../records/events/event.ts'
import type { RunEvent } from '../../records/events/schema.ts'
import { isFailure } from '../../records/events/step-state.ts'
import { keyOfScope } from '../../records/events/tree.ts'
import { iterationPath, scopeKey, taskPath } from '../../records/journal/paths.ts'
import { describeTaskEnd } from '../describe-task.ts'
import { describeLimit, describeWait, REFUSALS } from '../describe.ts'
import { describeEnding } from '../attempts.ts'
import type { LogLine } from './log-lines.ts'

/** An attempt of a step or of a sub-agent, with what only the live screen needs. */
export interface Entry {
  /** The path of its first log in the record, which identifies it. */
  readonly key: string
  /** The key of its step. */
  readonly step: string
  readonly of: Attempt
  /** The name of a sub-agent. */
  readonly task?: string
  readonly isStructured?: boolean | undefined
  readonly promptHash?: string | undefined
  /** Where its events begin and end in the journal. */
  readonly from: number
  to?: number
  /** The file with its output. */
  log: string
  /** How a sub-agent ended. */
  success?: boolean
  tool?: EventOf<'tool'> | undefined
  /** What happened around the agent's own output. */
  readonly notes: LogLine[]
  readonly subAgents: Entry[]
}

const TAIL_LINES = 20
const MOST_WARNINGS = 20

/** What the events say about each attempt; `RunState` has only the newest of each step. */
export class History {
  /** Sub-agents of a queue without steps. */
  readonly orphans: Entry[] = []
  readonly warnings: string[] = []
  readonly #attempts = new Attempts()
  /** By the key of the step, in the order of their starts. */
  readonly #entries = new Map<string, Entry[]>()
  /** The newest of each scope. */
  readonly #byScope = new Map<string, Entry>()
  /** How many logs there are for a path. */
  readonly #logs = new Map<string, number>()

  /** An event, and where its line begins and ends in the journal. */
  take(event: RunEvent, from: number, to: number): void {
    this.#attempts.note(event)
    switch (event.type) {
      case 'iteration_started':
        return this.#begin(event, from)
      case 'task_started':
        return this.#beginTask(event, from)
      case 'output':
        return event.log === undefined ? undefined : this.#change(event, { log: event.log })
      case 'tool':
        return this.#change(event, { tool: event })
      case 'tool_ended':
        if (this.find(event.scope)?.tool?.name === event.name)
          this.#change(event, { tool: undefined })
        return
      case 'command':
        return this.#noteCommand(event)
      case 'marker_refused':
        return this.#note(event, `Marker ignored: ${REFUSALS[event.why]}`)
      case 'limit':
        if (event.status !== 'allowed') this.#note(event, describeLimit(event))
        return
      case 'waiting':
        return this.#note(event, describeWait(event, Date.parse(event.at)))
      case 'merge_ended':
        return this.#noteMerge(event)
      case 'iteration_ended':
        this.#change(event, { to, tool: undefined })
        return this.#note(event, describeEnd(event), isFailure(event.outcome))
      case 'task_ended':
        return this.#endTask(event, to)
      case 'run_resumed':
        // What was open when the process died has not ended, and does not run.
        for (const entry of this.#byScope.values()) entry.to ??= from
        return
      case 'warning':
        this.warnings.push(printable(event.text))
        if (this.warnings.length > MOST_WARNINGS) this.warnings.shift()
    }
  }

  /** No process drives the run. */
  endAll(): void {
    this.#attempts.list(false)
  }

  find(scope: readonly string[]): Entry | undefined {
    return this.#byScope.get(scopeKey(scope))
  }

  of(step: string): readonly Entry[] {
    return this.#entries.get(step) ?? []
  }

  #begin(event: EventOf<'iteration_started'>, from: number): void {
    const of = this.#attempts.list(true).at(-1)!
    const entry = makeEntry(of, event, from, this.#nameLog(iterationPath(event)))
    const all = this.#entries.get(entry.step)
    if (all === undefined) this.#entries.set(entry.step, [entry])
    else all.push(entry)
    this.#byScope.set(scopeKey(event.scope), entry)
  }

  #beginTask(event: EventOf<'task_started'>, from: number): void {
    const { task, isStructured = false, scope, step, round = 1, iteration, attempt, at } = event
    const place = { scope, step, round, iteration, attempt, startedAt: at }
    const log = this.#nameLog(taskPath(task, attempt))
    const of = { ...place, tasks: [], commands: [] }
    const entry = { ...makeEntry(of, event, from, log), task, isStructured }
    const parent = this.of(entry.step).at(-1)
    ;(parent?.subAgents ?? this.orphans).push(entry)
    this.#byScope.set(scopeKey(scope), entry)
  }

  #endTask(event: EventOf<'task_ended'>, to: number): void {
    const { ms, usage, success, at: endedAt } = event
    const entry = this.find(event.scope)
    if (entry !== undefined) Object.assign(entry.of, { ms, usage, endedAt })
    this.#change(event, { to, success, tool: undefined })
    this.#note(event, describeTaskEnd(event), !success)
  }

  /** An attempt that is repeated after a crash has a new log. */
  #nameLog(path: string): string {
    const count = (this.#logs.get(path) ?? 0) + 1
    this.#logs.set(path, count)
    return count === 1 ? `${path}.log` : `${path}.again-${count}.log`
  }

  #change({ scope }: { readonly scope: readonly string[] }, fields: Partial<Entry>): void {
    const entry = this.find(scope)
    if (entry !== undefined) Object.assign(entry, fields)
  }

  #note({ scope }: { readonly scope: readonly string[] }, text: string, isBad = false): void {
    const notes = this.find(scope)?.notes
    // An agent may report its limit with every message.
    if (notes?.at(-1)?.text !== text) notes?.push({ text, kind: isBad ? 'failure' : 'own' })
  }

  #noteCommand(event: EventOf<'command'>): void {
    const { scope, iteration, role, command, result, detail, ms, tail = '' } = event
    const entry = this.of(keyOfScope(scope)).at(-1)
    if (entry === undefined || entry.of.iteration !== iteration) return
    const name = role === 'verify' ? 'gate' : role
    const text = printable(`${name} ${result}: ${command} (${detail}, ${formatDuration(ms)})`)
    entry.notes.push({ text, kind: result === 'ok' ? 'own' : 'failure' })
    if (tail === '') return
    const lines = printableLines(tail).trimEnd().split('\n').slice(-TAIL_LINES)
    for (const line of lines) entry.notes.push({ text: `| ${line}`, kind: 'output' })
  }

  #noteMerge({ scope, result, detail }: EventOf<'merge_ended'>): void {
    const key = keyOfScope(scope)
    const inside = [...this.#entries].filter(([step]) => `${step}/`.startsWith(`${key}/`))
    const last = inside
      .map(([, entries]) => entries.at(-1)!)
      .toSorted(byStart)
      .at(-1)
    const words = result === 'merged' ? 'Merged' : `Not merged: ${detail ?? result}`
    last?.notes.push({ text: printable(words), kind: result === 'merged' ? 'own' : 'failure' })
  }
}

export function byStart(one: Entry, other: Entry): number {
  return Date.parse(one.of.startedAt) - Date.parse(other.of.startedAt)
}

function makeEntry(
  of: Attempt,
  { promptHash, scope }: EventOf<'iteration_started'> | EventOf<'task_started'>,
  from: number,
  log: string,
): Entry {
  return { key: log, step: keyOfScope(scope), of, promptHash, from, log, notes: [], subAgents: [] }
}

function describeEnd({ outcome, ms }: EventOf<'iteration_ended'>): string {
  return `Iteration ended: ${printable(describeEnding(outcome))} (${formatDuration(ms)})`
}
