import { parseTimeout } from '../base/durations.ts'
import { UserError } from '../base/errors.ts'
import { readWhole } from '../base/numbers.ts'
import type { Push } from '../queue/client.ts'
import { messageJson, type LeaseQuery } from '../queue/message.ts'
import { PUSH_OPTIONS, readPushOptions } from '../queue/push-options.ts'
import type { ReceiveQuery } from '../queue/receive.ts'
import type { Counts } from '../queue/store.ts'
import {
  withQueueClient,
  type QueueCaller,
  type OpenQueue,
  type QueueRequest,
} from '../host/queue/caller.ts'
import { checkTypedAgent } from '../host/queue/check-agent.ts'
import {
  driveQueue,
  driveUntilDone,
  haveSucceeded,
  receiveWhileDriven,
  startTasks,
  type Driven,
} from '../host/queue/drive.ts'
import { describeQueue, maskMessages } from '../host/queue/masked.ts'
import type { FrontEnd } from '../host/front-end.ts'
import { runReady, makeFrontEnd, withStopSignals, type SessionOptions } from './session.ts'

export interface QueueOptions {
  readonly cwd?: string | undefined
  /** Absent: the run that this program is part of, or the newest one; the first push opens one. */
  readonly run?: string | undefined
}

/** The options of a task. */
export interface TaskOptions {
  readonly name?: string | undefined
  readonly agent?: string | undefined
  readonly model?: string | undefined
  /** For each attempt: `30m`, or seconds. */
  readonly timeout?: string | number | undefined
  /** Retries after a transient failure. */
  readonly retry?: number | undefined
  readonly isolation?: 'shared' | 'worktree' | undefined
  readonly onParentEnd?: 'wait' | 'cancel' | undefined
}

export interface RunQueueOptions extends SessionOptions {
  /** Start only this many, the oldest first; default: all. */
  readonly count?: number | undefined
  /** Start all tasks, this many at a time, including new ones. */
  readonly parallel?: number | undefined
}

export interface ReceiveOptions extends Omit<ReceiveQuery, 'timeoutMs'> {
  /** `30m`, or seconds; default: as long as an agent can still send. */
  readonly timeout?: string | number | undefined
  readonly signal?: AbortSignal | undefined
}

export interface QueueResult {
  /** Whether all these tasks succeeded. */
  readonly success: boolean
  /** Names of the tasks that were started. */
  readonly started: readonly string[]
  /** How many stay queued because the limit of running tasks is reached. */
  readonly held: number
  /** Names of tasks that an earlier process had started. */
  readonly unfinished: readonly string[]
}

/** The tasks, as in `forkhestra queue --json`. */
export interface QueueListing {
  readonly tasks: Awaited<ReturnType<typeof describeQueue>>['tasks']
  /** Null if there is no queue. */
  readonly counts: Counts | null
}

export type QueueMessage = ReturnType<typeof messageJson>

/** The queue and inbox of a run, with the same operations as the command line. */
export class Queue {
  readonly #frontEnd: FrontEnd
  readonly #closed = new AbortController()
  readonly #open = new Set<Promise<unknown>>()
  #run: string | undefined

  constructor({ cwd, run }: QueueOptions) {
    this.#frontEnd = makeFrontEnd(cwd)
    this.#run = run
  }

  /** Queues a task and returns its name; nothing is started. */
  async push(prompt: string, options: TaskOptions = {}): Promise<string> {
    const given = this.#readPush(prompt, options)
    const push =
      given.agent === undefined
        ? given
        : { ...given, agent: await checkTypedAgent(this.#request, given.agent) }
    const [name] = await this.#with('create-run', ({ client }) => client.push([push]))
    return name!
  }

  /** Starts queued tasks and runs them until they have ended; inside a run, whose process runs them, only starts them. */
  run(options: RunQueueOptions = {}): Promise<QueueResult> {
    const running = this.#with(
      'existing',
      (opened) => this.#start(opened, options),
      () => NOTHING,
    )
    this.#open.add(running)
    const forget = () => this.#open.delete(running)
    running.then(forget, forget)
    return running
  }

  /** The tasks of the caller, or of all agents of the run. */
  list({ all = false }: { readonly all?: boolean | undefined } = {}): Promise<QueueListing> {
    return this.#with(
      'existing',
      async (opened): Promise<QueueListing> => {
        const { tasks, counts } = await describeQueue(opened, all, this.#frontEnd.env)
        return { tasks, counts }
      },
      () => ({ tasks: [], counts: null }),
    )
  }

  /** Takes the unread messages, without waiting. */
  check({ from, max = 100, lifo }: LeaseQuery = {}): Promise<QueueMessage[]> {
    return this.#with(
      'existing',
      async (opened) => this.#take(await opened.client.check({ from, max, lifo }), opened),
      () => [],
    )
  }

  /** Waits for one message, or until each of several senders has answered. */
  receive({ signal, timeout, ...query }: ReceiveOptions = {}) {
    const stops = [this.#closed.signal, ...(signal === undefined ? [] : [signal])]
    const timeoutMs = timeout === undefined ? undefined : parseTimeout(timeout)
    return this.#with(
      'existing',
      async (opened) => {
        const received = await receiveWhileDriven(
          opened,
          { ...query, timeoutMs },
          AbortSignal.any(stops),
        )
        const { status, senders, deadlock } = received
        const messages = await this.#take(received, opened)
        return { status, senders, messages, ...(deadlock === undefined ? {} : { deadlock }) }
      },
      () => ({ status: 'nothing_to_wait_for' as const, senders: [], messages: [] }),
    )
  }

  /** Lists the messages without taking them. */
  inbox() {
    return this.#with(
      'existing',
      ({ client }) => client.inbox(),
      () => [],
    )
  }

  send(to: string, text: string): Promise<void> {
    return this.#with('create-store', ({ client }) => client.send(to, text))
  }

  /** Cancels a task and its descendants: waiting ones at once, running ones are asked to stop. */
  cancel(name: string) {
    return this.#with('existing', ({ client }) => client.cancel(name))
  }

  /** Stops the tasks that this object runs, and waits until they have ended. */
  async close(): Promise<void> {
    this.#closed.abort()
    await Promise.allSettled(this.#open)
  }

  get #request(): QueueRequest {
    return { frontEnd: this.#frontEnd, run: this.#run }
  }

  #readPush(prompt: string, { onParentEnd, ...options }: TaskOptions): Push {
    const given = Object.entries({ ...options, on_parent_end: onParentEnd })
    const values = given.flatMap(([name, value]) => {
      if (value === undefined || !PUSH_OPTIONS.has(name)) return []
      return [[name, String(value)] as const]
    })
    if (prompt.trim() === '') throw new UserError('The prompt of the task is missing.')
    return { ...readPushOptions(values), prompt }
  }

  /** Uses the same run for all calls, even if a newer one starts. */
  #with<Result>(
    access: 'create-run' | 'create-store' | 'existing',
    work: (opened: OpenQueue) => Promise<Result>,
    nothing?: (caller?: QueueCaller) => NoInfer<Result>,
  ): Promise<Result> {
    const remember = (opened: OpenQueue) => {
      this.#run = opened.run
      return work(opened)
    }
    return withQueueClient(this.#request, access, remember, nothing)
  }

  /** Acknowledges the messages, which removes them from the inbox. */
  async #take(
    delivery: Awaited<ReturnType<OpenQueue['client']['check']>>,
    opened: OpenQueue,
  ): Promise<QueueMessage[]> {
    const messages = await maskMessages(delivery.messages, opened, this.#frontEnd.env)
    const lost = new Set((await delivery.acknowledge()).map(({ id }) => id))
    return messages.filter(({ id }) => !lost.has(id)).map(messageJson)
  }

  async #start(opened: OpenQueue, options: RunQueueOptions): Promise<QueueResult> {
    const { killOrphans = false } = options
    const [count, parallel] = [readCount('count', options), readCount('parallel', options)]
    if (count !== undefined && parallel !== undefined)
      throw new UserError('Give either count or parallel, not both.')
    const numbers = { count, parallel }
    const begun = await startTasks(opened, numbers, killOrphans, this.#frontEnd)
    const { started, held, unfinished, names, mayKill } = begun
    const isDone = opened.isInside || names.length === 0
    const signal = AbortSignal.any([
      this.#closed.signal,
      ...(options.signal ? [options.signal] : []),
    ])
    const success =
      isDone || (await driveTasks(this.#frontEnd, opened, names, mayKill, { ...options, signal }))
    return { success, started, held, unfinished }
  }
}

const NOTHING: QueueResult = { success: true, started: [], held: 0, unfinished: [] }

/** Opens the queue and the inbox of a run. */
export function openQueue(options: QueueOptions = {}): Queue {
  return new Queue(options)
}

/** Drives started tasks in this process if no other one does; returns whether all succeeded. */
export function driveTasks(
  frontEnd: FrontEnd,
  driven: Driven,
  names: readonly string[],
  mayKill: boolean,
  options: SessionOptions,
): Promise<boolean> {
  return withStopSignals(driven.run, options, async (stopping) => {
    const drive = (lock: Parameters<typeof driveQueue>[2]) =>
      driveQueue(frontEnd, driven, lock, mayKill, (ready, work) =>
        runReady(ready, options, stopping, { work }),
      )
    const end = await driveUntilDone(driven, names, drive, () => stopping.stop)
    return end === 'over' && (await haveSucceeded(driven, names))
  })
}

function readCount(name: 'count' | 'parallel', { [name]: value }: RunQueueOptions) {
  if (value === undefined) return undefined
  return readWhole(name, String(value), { least: 1, most: 1_000_000 })
}
