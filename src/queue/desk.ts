import { UserError } from '../base/errors.ts'
import { randomLetters } from '../base/ids.ts'
import { lifeOf, ownIdentity } from '../base/process-identity.ts'
import { Receiver, type Received, type ReceiveQuery } from './receive.ts'
import type { InboxLine, Lease, LeaseQuery, Message } from './message.ts'
import type { Cancelled, Counts, QueueStore, Started } from './store.ts'
import { nameOf, type Agent, type FollowUp, type TaskBrief, type TaskOptions } from './task.ts'

/** What `/push` says. */
export interface Push extends TaskOptions {
  /** Where the same push may come twice; made up where it is absent. */
  readonly id?: string | undefined
  readonly name?: string | undefined
  readonly prompt: string
  readonly retry?: number | undefined
}

/** Messages in the hands of whoever asked; they are gone once he says that he has them. */
export interface Delivery {
  readonly messages: readonly Message[]
  /** Those that were no longer his are returned: somebody else gets them, or has them by now. */
  acknowledge(): Promise<readonly Message[]>
}

/** What an agent has pushed, and what there is room for. */
export interface QueueView {
  readonly tasks: readonly TaskBrief[]
  readonly counts: Counts
}

/** What `/run` says. */
export interface RunOptions {
  /** Where the same may be asked for twice. */
  readonly id?: string | undefined
  readonly count?: number | undefined
  readonly parallel?: number | undefined
}

/** The verbs of one agent of a run: at whatever door somebody knocks, this is what happens. */
export class Desk {
  readonly #store: QueueStore
  readonly #run: string
  readonly #agent: Agent
  readonly #reader = makeHand('r')
  /** Deliveries that nobody has acknowledged. */
  readonly #open = new Set<readonly Lease[]>()
  #keeping: Timer | undefined

  constructor(store: QueueStore, run: string, agent: Agent) {
    this.#store = store
    this.#run = run
    this.#agent = agent
  }

  /** Appends to the agent's own queue, all or nothing; the names are returned. */
  async push(pushes: readonly Push[]): Promise<string[]> {
    for (const { prompt } of pushes) refuseNul(prompt)
    const tasks = pushes.map((each) => ({
      ...asTask(each),
      run: this.#run,
      parent: this.#agent,
      // Whoever comes again with the same id finds what is there.
      isOfAll: each.id !== undefined,
    }))
    await this.#store.push(tasks)
    return tasks.map(({ name }) => name)
  }

  /** Starts the oldest, all of them without a count; or all of them, so many at a time. */
  run({ id, count, parallel }: RunOptions = {}): Promise<Started> {
    return parallel === undefined
      ? this.#store.start(this.#run, this.#agent, count, id)
      : this.#store.drain(this.#run, this.#agent, parallel, id)
  }

  /** What is there, without waiting. */
  async check(query: LeaseQuery = {}): Promise<Delivery> {
    await this.#releaseDead()
    return this.#deliver(await this.#store.lease(this.#run, this.#agent, query, this.#reader))
  }

  /** Waits for one message, or until each of several senders has answered. */
  async receive(query: ReceiveQuery, signal: AbortSignal): Promise<Received & Delivery> {
    await this.#releaseDead()
    const receiver = new Receiver(this.#store, this.#run, this.#agent, this.#reader)
    const { leases, ...rest } = await receiver.receive(eachOnce(query), signal)
    return { ...rest, ...this.#deliver(leases) }
  }

  async send(to: string, body: string): Promise<void> {
    if (body === '') throw new UserError('The message is empty.')
    const id = `m-${randomLetters(16)}`
    await this.#store.send({ id, run: this.#run, from: this.#agent, to, body })
  }

  async queue(): Promise<QueueView> {
    const [tasks, counts] = await Promise.all([
      this.#store.list(this.#run, { agent: this.#agent }),
      this.#store.counts(this.#run),
    ])
    return { tasks, counts }
  }

  /** Whether anything waits in the queue to be started. */
  async hasQueued(): Promise<boolean> {
    const query = { agent: this.#agent, states: ['queued'], most: 1 } as const
    return (await this.#store.list(this.#run, query)).length > 0
  }

  /** What a dead reader has in hand is not being read any more. */
  async inbox(): Promise<readonly Omit<InboxLine, 'reader'>[]> {
    const lines = await this.#store.inbox(this.#run, this.#agent)
    return lines.map(({ reader, ...line }) => ({
      ...line,
      isLeased: line.isLeased && (reader === undefined || !isDeadHand(reader)),
    }))
  }

  cancel(name: string): Promise<Cancelled> {
    const why = `cancelled by ${nameOf(this.#agent)}`
    return this.#store.cancel(this.#run, name, why, this.#agent)
  }

  /** What was handed out and not acknowledged is there again for the next reader. */
  close(): Promise<void> {
    this.#open.clear()
    this.#keep()
    return this.#store.releaseReader(this.#reader)
  }

  #deliver(leases: readonly Lease[]): Delivery {
    if (leases.length > 0) this.#open.add(leases)
    this.#keep()
    return {
      messages: leases.map(({ message }) => message),
      acknowledge: async () => {
        const isOurs = await this.#store.ack(leases)
        this.#open.delete(leases)
        this.#keep()
        return leases.flatMap(({ message }, place) => (isOurs[place] === true ? [] : [message]))
      },
    }
  }

  /** Whoever takes long to read loses nothing, for as long as he is there. */
  #keep(): void {
    if (this.#open.size === 0) {
      clearInterval(this.#keeping)
      this.#keeping = undefined
    } else {
      this.#keeping ??= setInterval(() => this.#renew(), this.#store.times.readerLeaseMs / 3)
      this.#keeping.unref()
    }
  }

  #renew(): void {
    this.#store.renew(this.#run, this.#agent, this.#reader).catch(() => {
      // What could not be kept is told when it is acknowledged.
    })
  }

  async #releaseDead(): Promise<void> {
    const dead = await deadHands(this.#store, this.#run)
    if (dead.length > 0) await this.#store.releaseDead(this.#run, dead)
  }
}

/** Who is named twice is waited for once. */
function eachOnce({ from, ...query }: ReceiveQuery): ReceiveQuery {
  return from === undefined ? query : { ...query, from: [...new Set(from)] }
}

/** No program could be called with it. */
function refuseNul(prompt: string): void {
  if (!prompt.includes('\0')) return
  throw new UserError('The prompt of the task is not text: it has a NUL character.')
}

/** What is to be queued, wherever that is. */
export function asTask({
  id = `t-${randomLetters(16)}`,
  name = nameFor(id),
  prompt,
  retry,
  ...options
}: Push): FollowUp {
  return { id, name, prompt, retry, options }
}

/** Of ten thousand at once no two are alike. */
const NAME_LENGTH = 10

/** A name that a task gets where nobody has given it one; the same for the same id. */
export function nameFor(id: string): string {
  return `task-${Bun.hash(id).toString(36).padStart(NAME_LENGTH, '0').slice(-NAME_LENGTH)}`
}

/** Who has a message or a task in hand; by it others can see whether he is still there. */
export function makeHand(kind: 'r' | 'w'): string {
  return `${ownIdentity() ?? 'unknown'}/${kind}-${randomLetters(10)}`
}

/** Who has something of a run in hand although his process is certainly gone. */
export async function deadHands(store: QueueStore, run: string): Promise<string[]> {
  return (await store.hands(run)).filter(isDeadHand)
}

function isDeadHand(hand: string): boolean {
  return lifeOf(hand.split('/', 1)[0]!) === 'dead'
}
