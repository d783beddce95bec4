import type { TaskState } from './task.ts'

/** The transitions in a store's history: of tasks, then of messages, then others. */
export type HistoryKind =
  | 'pushed'
  | 'started'
  | 'claimed'
  | 'told'
  | 'over'
  | 'ended'
  | 'sent'
  | 'leased'
  | 'returned'
  | 'forwarded'
  | 'acked'
  | 'deadlock'
  /** An agent of a step has started or stopped working. */
  | 'main'

export interface HistoryEntry {
  readonly what: HistoryKind
  /** The id of a task or of a message. */
  readonly subject: string
  /**
   * Of the task; for `pushed`, the attempt of the parent that pushed it, or 0 if it belongs to all attempts.
   */
  readonly attempt: number
  readonly detail: string
}

/** The id of the message with a task's result. */
export function resultId(task: string): string {
  return `${task}.result`
}

const BEFORE = { started: 'queued', claimed: 'ready', over: 'running' } as const

interface TaskAccount {
  state: TaskState
  attempt: number
}

interface MessageAccount {
  state: 'waiting' | 'leased' | 'acked'
  reader: string
  delivery: number
}

/** The store's tables, to be compared with its history. */
export interface Tables {
  readonly tasks: readonly {
    readonly id: string
    readonly state: TaskState
    readonly attempt: number
    readonly worker: string | null
    readonly leaseUntil: number | null
  }[]
  readonly messages: readonly {
    readonly id: string
    readonly reader: string | null
    readonly leaseUntil: number | null
    readonly delivery: number
  }[]
}

/** Replays the history of a run and reports what is inconsistent. */
export class Ledger {
  readonly #tasks = new Map<string, TaskAccount>()
  readonly #messages = new Map<string, MessageAccount>()
  readonly #violations: string[] = []

  add({ what, subject, attempt, detail }: HistoryEntry): void {
    switch (what) {
      case 'pushed':
      case 'started':
      case 'claimed':
      case 'over':
      case 'ended':
        return this.#addTask(what, subject, attempt, detail)
      case 'sent':
        if (this.#messages.has(subject)) this.#report(`message ${subject} was sent twice`)
        this.#messages.set(subject, { state: 'waiting', reader: '', delivery: 0 })
        return
      case 'leased':
      case 'returned':
      case 'forwarded':
      case 'acked':
        return this.#addMessage(what, subject, attempt, detail)
      case 'told':
      case 'deadlock':
      case 'main':
        return
      default:
        what satisfies never
        this.#report(`the history has an unknown line: ${String(what)} ${subject}`)
    }
  }

  #addTask(
    what: 'pushed' | 'started' | 'claimed' | 'over' | 'ended',
    id: string,
    attempt: number,
    detail: string,
  ): void {
    if (what === 'pushed') {
      if (this.#tasks.has(id)) this.#report(`task ${id} was pushed twice`)
      this.#tasks.set(id, { state: detail === 'ready' ? 'ready' : 'queued', attempt: 0 })
      return
    }
    const task = this.#tasks.get(id)
    if (task === undefined) return this.#report(`task ${id} was ${what} but never pushed`)
    if (what === 'ended') {
      if (task.state === 'ended') this.#report(`task ${id} ended twice`)
      if (task.state === 'running') this.#report(`task ${id} ended, but its attempt did not`)
      task.state = 'ended'
      return
    }
    if (task.state !== BEFORE[what]) this.#report(`task ${id} was ${what} while ${task.state}`)
    if (what === 'claimed') task.attempt += 1
    if (what !== 'started' && task.attempt !== attempt) {
      this.#report(
        `attempt ${attempt} of task ${id} was ${what}, but attempt ${task.attempt} was expected`,
      )
    }
    task.state = what === 'claimed' ? 'running' : 'ready'
  }

  #addMessage(
    what: 'leased' | 'returned' | 'forwarded' | 'acked',
    id: string,
    delivery: number,
    detail: string,
  ): void {
    const message = this.#messages.get(id)
    if (message === undefined) return this.#report(`message ${id} was ${what} but never sent`)
    const wanted = what === 'leased' || what === 'forwarded' ? 'waiting' : 'leased'
    if (message.state !== wanted) this.#report(`message ${id} was ${what} while ${message.state}`)
    if (what === 'leased') {
      Object.assign(message, { state: 'leased', reader: detail, delivery })
    } else if (what === 'returned') {
      message.state = 'waiting'
    } else if (what === 'acked') {
      message.state = 'acked'
      if (detail !== `${message.reader} ${message.delivery}`) {
        this.#report(`message ${id} was acked by ${detail}, but ${message.reader} held it`)
      }
    }
  }

  /** Compares the replayed history with the tables. */
  close({ tasks, messages }: Tables): readonly string[] {
    this.#compareTasks(tasks)
    this.#compareMessages(messages)
    for (const [id, { state }] of this.#tasks) {
      const hasResult = this.#messages.has(resultId(id))
      if (state === 'ended' && !hasResult) this.#report(`task ${id} ended without a message`)
      if (state !== 'ended' && hasResult) this.#report(`task ${id} has a result but did not end`)
    }
    return this.#violations
  }

  #compareTasks(tasks: Tables['tasks']): void {
    const missing = new Set(this.#tasks.keys())
    for (const { id, state, attempt, worker, leaseUntil } of tasks) {
      missing.delete(id)
      const account = this.#tasks.get(id)
      if (account === undefined) this.#report(`task ${id} exists without a history`)
      else if (account.state !== state || account.attempt !== attempt) {
        const expected = `${account.state} at attempt ${account.attempt}`
        this.#report(
          `task ${id} is ${state} at attempt ${attempt}, but its history says ${expected}`,
        )
      }
      const isHeld = state === 'running'
      if ((worker !== null) !== isHeld || (leaseUntil !== null) !== isHeld) {
        this.#report(`task ${id} is ${state} ${worker === null ? 'without' : 'with'} a worker`)
      }
    }
    for (const id of missing) this.#report(`task ${id} is gone`)
  }

  #compareMessages(messages: Tables['messages']): void {
    const missing = new Set(this.#messages.keys())
    for (const { id, reader, leaseUntil, delivery } of messages) {
      missing.delete(id)
      const account = this.#messages.get(id)
      if (account === undefined) this.#report(`message ${id} exists without a history`)
      else if (account.state === 'acked') this.#report(`message ${id} exists although it was acked`)
      else if (
        (account.state === 'leased') !== (reader !== null) ||
        account.delivery !== delivery
      ) {
        this.#report(`message ${id} is not leased as its history says`)
      }
      if ((reader !== null) !== (leaseUntil !== null))
        this.#report(`message ${id} has a lease without a reader`)
    }
    for (const id of missing) {
      if (this.#messages.get(id)?.state !== 'acked')
        this.#report(`message ${id} disappeared unread`)
    }
  }

  #report(violation: string): void {
    this.#violations.push(violation)
  }
}
