import { expect } from 'bun:test'
import type { Clock } from '../../../src/queue/limits.ts'
import type { ReceiveStatus } from '../../../src/queue/message.ts'
import { QueueError } from '../../../src/queue/refusal.ts'
import type { QueueRefusal } from '../../../src/queue/refusal.ts'
import type { QueueStore } from '../../../src/queue/store.ts'
import type {
  Agent,
  TaskClaim,
  TaskEnd,
  NewQueuedTask,
  QueuedTaskOptions,
} from '../../../src/queue/task.ts'
import type { StoreKind, OpenOptions } from './store-kind.ts'

export const RUN = 'run-1'
export const DONE = { success: true, output: 'done' } as const satisfies TaskEnd

export function failed(failure: (TaskEnd & { success: false })['class']): TaskEnd {
  return { success: false, class: failure, error: `it is ${failure}`, partialOutput: 'half' }
}

/** A clock that only tests advance. */
export class TestClock implements Clock {
  #now = 1_800_000_000_000

  now(): number {
    return this.#now
  }

  pass(ms: number): void {
    this.#now += ms
  }
}

interface PushOptions extends QueuedTaskOptions {
  readonly retry?: number
  readonly isForAllAttempts?: boolean
}

/** A store with one open run, and shortcuts for tests. */
export class TestStore {
  readonly clock = new TestClock()
  readonly place: string
  readonly store: QueueStore

  private constructor(store: QueueStore, place: string, clock: TestClock) {
    this.store = store
    this.place = place
    this.clock = clock
  }

  static async open(kind: StoreKind, options: OpenOptions = {}): Promise<TestStore> {
    const clock = new TestClock()
    const place = kind.makePlace()
    const store = await kind.open(place, { clock, ...options })
    await store.openRun(RUN)
    return new TestStore(store, place, clock)
  }

  push(parent: Agent, names: readonly string[], options: PushOptions = {}): Promise<void> {
    return this.store.push(names.map((name) => newTask(parent, name, options)))
  }

  /** Pushes a task, starts it and claims it. */
  async begin(parent: Agent, name: string, options: PushOptions = {}): Promise<TaskClaim> {
    await this.push(parent, [name], options)
    await this.store.start(RUN, parent)
    return this.claim(name)
  }

  async claim(name: string): Promise<TaskClaim> {
    const claim = await this.store.claim(RUN, `worker of ${name}`)
    expect(claim?.task.name).toBe(name)
    return claim!
  }

  /** The messages of an inbox in short form. */
  async read(agent: string): Promise<string[]> {
    const leases = await this.store.lease(RUN, agent, { max: 100 }, 'test')
    await this.store.releaseReaders(['test'])
    return leases.map(({ message }) => {
      if (message.kind === 'text') return `${message.from}: ${message.body}`
      const { end } = message
      return `${message.from}: ${end.success ? end.output : end.class}`
    })
  }

  /** What a wait of this agent would find, without leaving a trace. */
  async status(agent: Agent, from?: readonly string[]): Promise<ReceiveStatus> {
    const { leases: _, ...status } = await this.store.take(
      RUN,
      agent,
      { from, isLast: true },
      'status',
    )
    await this.store.releaseReaders(['status'])
    return status
  }

  async states(): Promise<Record<string, string>> {
    const tasks = await this.store.list(RUN)
    return Object.fromEntries(tasks.map(({ name, state }) => [name, state]))
  }

  /** To be called at the end of each test: verifies the history and closes the store. */
  async close(): Promise<void> {
    const violations = await this.store.verify(RUN)
    await this.store.close()
    expect(violations).toEqual([])
  }
}

let tasks = 0

export function newTask(
  parent: Agent,
  name: string,
  { retry = 0, isForAllAttempts, ...options }: PushOptions = {},
): NewQueuedTask {
  tasks += 1
  const id = `task-${tasks}-${name}`
  return { id, run: RUN, parent, name, prompt: `Do ${name}`, options, retry, isForAllAttempts }
}

let messages = 0

export function newMessage(from: string, to: string, body: string) {
  messages += 1
  return { id: `message-${messages}`, run: RUN, from, to, body }
}

/** The refusal of a call. */
export async function refusalOf(work: Promise<unknown>): Promise<QueueRefusal> {
  try {
    await work
  } catch (error) {
    if (error instanceof QueueError) return error.refusal
    throw error
  }
  throw new Error('it was not refused')
}
