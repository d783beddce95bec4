import type { EventOf } from './event.ts'
import type { End, GitChanges, Outcome, Refusal, RunEvent, Usage } from './schema.ts'
import { keyOfScope } from './tree.ts'

/** A gate or another command of the configuration that ran in an attempt. */
export type RanCommand = Pick<
  EventOf<'command'>,
  'role' | 'command' | 'result' | 'detail' | 'ms' | 'tail'
>

interface WorkedOn {
  readonly id: string
  readonly title?: string | undefined
}

/** One start of a step's agent, whether it has ended or not. */
export interface Attempt {
  readonly scope: readonly string[]
  readonly step: number
  readonly round: number
  readonly iteration: number
  readonly attempt: number
  readonly startedAt: string
  /** Absent while it runs. */
  readonly endedAt?: string
  readonly ms?: number
  /** Absent while it runs, and if its run was killed. */
  readonly outcome?: Outcome | undefined
  readonly isKilled?: boolean
  /** Why its marker was refused. */
  readonly refusal?: Refusal | undefined
  /** Whether it does not count and is repeated. */
  readonly again?: boolean | undefined
  readonly ends?: End | undefined
  readonly usage?: Usage | undefined
  readonly changes?: GitChanges | undefined
  /** The tasks of forge-tasks that it worked on. */
  readonly tasks: readonly WorkedOn[]
  readonly commands: readonly RanCommand[]
  /** What became of the work of its branch. */
  readonly merge?: Pick<
    EventOf<'merge_ended'>,
    'result' | 'commits' | 'commit' | 'files' | 'detail' | 'aside'
  >
  /** The last message of its agent. */
  readonly lastWords?: string
}

/** A wait of an agent, for a usage limit or before a retry. */
export interface Wait {
  readonly scope: readonly string[]
  readonly why: EventOf<'waiting'>['why']
  readonly startedAt: string
  /** Absent while it lasts. */
  readonly endedAt?: string
}

/** What an iteration or a sub-agent has cost, when it ended. */
export interface Cost {
  readonly at: string
  readonly costUsd: number
}

type Writable<Value> = { -readonly [Name in keyof Value]: Value[Name] }

interface OpenAttempt {
  readonly of: Writable<Attempt>
  readonly tasks: WorkedOn[]
  readonly commands: RanCommand[]
  readonly worker: string
  /** When its process last wrote an event. */
  lastAt: string
}

type Started = Omit<EventOf<'iteration_started'>, 'type'>

/** Finds the attempts of a run in its events, in the order of their starts, and what happened around them. */
export class Attempts {
  readonly waits: Wait[] = []
  readonly costs: Cost[] = []
  readonly #all: Attempt[] = []
  /** Keyed by the scope of the step. */
  readonly #open = new Map<string, OpenAttempt>()

  note(event: RunEvent): void {
    for (const open of this.#open.values()) if (open.worker === event.worker) open.lastAt = event.at
    if ('usage' in event && event.usage?.costUsd !== undefined)
      this.costs.push({ at: event.at, costUsd: event.usage.costUsd })
    switch (event.type) {
      case 'waiting':
        this.waits.push({ scope: event.scope, why: event.why, startedAt: event.at })
        return
      case 'waited':
        return this.#endWait(event)
      case 'iteration_started':
        this.#begin(event)
        return
      case 'claimed':
        this.#find(event)?.tasks.push({ id: event.id, title: event.title })
        return
      case 'command':
        return this.#addCommand(event)
      case 'message':
        return this.#listen(event)
      case 'marker_refused':
        return this.#change(event, { refusal: event.why })
      case 'iteration_ended':
        return this.#end(event)
      case 'merge_ended':
        return this.#merge(event)
      case 'run_resumed':
        return this.#kill(event.lostMs ?? 0)
    }
  }

  /** All attempts; those that have not ended were killed unless the run is active. */
  list(isActive: boolean, lostMs = 0): readonly Attempt[] {
    if (!isActive) this.#kill(lostMs)
    return this.#all
  }

  #begin({ at, scope, step, round = 1, iteration, attempt, worker }: Started): OpenAttempt {
    const [tasks, commands]: [WorkedOn[], RanCommand[]] = [[], []]
    const place = { scope, step, round, iteration, attempt, startedAt: at }
    const of: Writable<Attempt> = { ...place, tasks, commands }
    this.#all.push(of)
    const open = { of, tasks, commands, worker, lastAt: at }
    this.#open.set(keyOfScope(scope), open)
    return open
  }

  #addCommand({ role, command, result, detail, ms, tail, ...place }: EventOf<'command'>): void {
    const open = this.#find(place)
    if (open === undefined || open.of.iteration !== place.iteration) return
    open.commands.push({
      role,
      command,
      result,
      detail,
      ms,
      ...(tail === undefined ? {} : { tail }),
    })
  }

  #listen({ task, parent, text, ...place }: EventOf<'message'>): void {
    if (task === undefined && parent === undefined) this.#change(place, { lastWords: text })
  }

  #end(event: EventOf<'iteration_ended'>): void {
    // The beginning may be missing from a damaged record.
    const open = this.#find(event) ?? this.#begin({ ...event, at: startOf(event) })
    const { at: endedAt, ms, outcome, again, ends, usage, changes, tasks = [] } = event
    const isNew = (id: string) => !open.tasks.some((each) => each.id === id)
    open.tasks.push(...tasks.filter(isNew).map((id) => ({ id })))
    Object.assign(open.of, { endedAt, ms, outcome }, again && { again }, ends && { ends })
    Object.assign(open.of, usage && { usage }, changes && { changes })
    this.#open.delete(keyOfScope(event.scope))
  }

  /** The work of a branch is merged after the iteration that hands it in. */
  #merge({ scope, result, commits, commit, files, detail, aside }: EventOf<'merge_ended'>): void {
    const key = keyOfScope(scope)
    const last = this.#all.findLast((each) => `${keyOfScope(each.scope)}/`.startsWith(`${key}/`))
    if (last !== undefined)
      Object.assign(last, { merge: { result, commits, commit, files, detail, aside } })
  }

  #endWait({ scope, at: endedAt }: EventOf<'waited'>): void {
    const key = scope.join('/')
    const open = this.waits.findLast((each) => each.scope.join('/') === key)
    if (open !== undefined) Object.assign(open, { endedAt })
  }

  #kill(lostMs: number): void {
    for (const { of, lastAt } of this.#open.values()) {
      const end = Date.parse(lastAt) + lostMs
      const ms = Math.max(0, end - Date.parse(of.startedAt))
      Object.assign(of, { isKilled: true, endedAt: new Date(end).toISOString(), ms })
    }
    this.#open.clear()
  }

  #change(place: { readonly scope?: readonly string[] }, fields: Partial<Attempt>): void {
    const open = this.#find(place)
    if (open !== undefined) Object.assign(open.of, fields)
  }

  #find({ scope = [] }: { readonly scope?: readonly string[] }): OpenAttempt | undefined {
    return this.#open.get(keyOfScope(scope))
  }
}

function startOf({ at, ms }: EventOf<'iteration_ended'>): string {
  return new Date(Date.parse(at) - ms).toISOString()
}
