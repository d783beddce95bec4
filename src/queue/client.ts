import { UserError } from '../base/errors.ts'
import { randomLetters } from '../base/ids.ts'
import { lifeOf, ownIdentity } from '../base/linux/process-identity.ts'
import { receive, type Received, type ReceiveQuery } from './receive.ts'
import type { InboxLine, Lease, LeaseQuery, InboxMessage } from './message.ts'
import type { Cancelled, Counts, QueueStore, Started } from './store.ts'
import {
  agentName,
  type Agent,
  type FollowUp,
  type TaskBrief,
  type QueuedTaskOptions,
} from './task.ts'

/** The arguments of `/push`. */
export interface Push extends QueuedTaskOptions {
  /** Makes a repeated push idempotent; generated if absent. */
  readonly id?: string | undefined
  readonly name?: string | undefined
  readonly prompt: string
  readonly retry?: number | undefined
}

/** Messages that are leased to the reader until it acknowledges them. */
export interface Delivery {
  readonly messages: readonly InboxMessage[]
  /** Returns the messages whose lease had expired: another reader may get them too. */
  acknowledge(): Promise<readonly InboxMessage[]>
}

/** The tasks of an agent, and the capacity left. */
export interface QueueView {
  readonly tasks: readonly TaskBrief[]
  readonly counts: Counts
}

/** The arguments of `/run`. */
export interface StartOptions {
  /** Makes a repeated call idempotent. */
  readonly id?: string | undefined
  readonly count?: number | undefined
  readonly parallel?: number | undefined
}

/** The queue and inbox of one agent of a run; shared by CLI, MCP, library and prompts. */
export class QueueClient {
  readonly #store: QueueStore
  readonly #run: string
  readonly #agent: Agent
  /** All agents whose queues and inboxes it uses: the first one, and those in branches without a process. */
  readonly #agents: readonly Agent[]
  readonly #reader = makeHolder('r')
  /** Deliveries that are not acknowledged yet. */
  readonly #open = new Set<readonly Lease[]>()
  #renewal: Timer | undefined

  constructor(store: QueueStore, run: string, agent: Agent, inBranches: readonly string[] = []) {
    this.#store = store
    this.#run = run
    this.#agent = agent
    this.#agents = [agent, ...inBranches]
  }

  /** Appends all or none to the agent's own queue; returns the names. */
  async push(pushes: readonly Push[]): Promise<string[]> {
    // A program argument cannot contain NUL.
    if (pushes.some(({ prompt }) => prompt.includes('\0')))
      throw new UserError('The prompt of the task is not text: it contains a NUL character.')
    const tasks = pushes.map((each) => ({
      ...toTask(each),
      run: this.#run,
      parent: this.#agent,
      // A repeated push with the same id may come from the next attempt.
      isForAllAttempts: each.id !== undefined,
    }))
    await this.#store.push(tasks)
    return tasks.map(({ name }) => name)
  }

  /** Starts the oldest `count` tasks (default: all), or drains the queue `parallel` at a time. */
  async run({ id, count, parallel }: StartOptions = {}): Promise<Started> {
    const started: string[] = []
    let held = 0
    for (const agent of this.#agents) {
      const rest = count === undefined ? undefined : count - started.length
      const more =
        parallel === undefined
          ? await this.#store.start(this.#run, agent, rest, id)
          : await this.#store.drain(this.#run, agent, parallel, id)
      started.push(...more.started)
      held += more.held
    }
    return { started, held }
  }

  /** Takes messages without waiting. */
  async check({ max = 1, ...query }: LeaseQuery = {}): Promise<Delivery> {
    await this.#releaseDead()
    const leases: Lease[] = []
    for (const agent of this.#agents) {
      const rest = { ...query, max: max - leases.length }
      const found =
        rest.max > 0 ? await this.#store.lease(this.#run, agent, rest, this.#reader) : []
      leases.push(...found.map((lease) => this.#addressed(lease, agent)))
    }
    return this.#deliver(leases)
  }

  /** A text for another agent names the recipient. */
  #addressed(lease: Lease, agent: Agent): Lease {
    const { message } = lease
    if (agent === this.#agent || message.kind !== 'text') return lease
    return { ...lease, message: { to: agentName(agent), ...message } }
  }

  /** Waits for one message, or until each of several senders has answered. */
  async receive(query: ReceiveQuery, signal: AbortSignal): Promise<Received & Delivery> {
    await this.#releaseDead()
    const receiver = { run: this.#run, agent: this.#agent, reader: this.#reader }
    const from = query.from === undefined ? undefined : [...new Set(query.from)]
    const received = await receive(this.#store, receiver, { ...query, from }, signal)
    const { leases, ...rest } = received
    return { ...rest, ...this.#deliver(leases) }
  }

  async send(to: string, body: string): Promise<void> {
    if (body === '') throw new UserError('The message is empty.')
    const id = `m-${randomLetters(16)}`
    await this.#store.send({ id, run: this.#run, from: this.#agent, to, body })
  }

  async queue(): Promise<QueueView> {
    const [counts, ...tasks] = await Promise.all([
      this.#store.counts(this.#run),
      ...this.#agents.map((agent) => this.#store.list(this.#run, { agent })),
    ])
    return { tasks: tasks.flat(), counts }
  }

  /** A message leased to a dead reader does not count as being read. */
  async inbox(): Promise<readonly Omit<InboxLine, 'reader'>[]> {
    const lines = await this.#lines()
    return lines.map(({ agent, reader: _reader, ...line }) =>
      agent === this.#agent ? line : { to: agentName(agent), ...line },
    )
  }

  /** How many messages of these senders (default: all) are not leased to a reader. */
  async countUnread(from?: readonly string[]): Promise<number> {
    const isWanted = ({ isLeased, from: name, to }: InboxLine) =>
      !isLeased && (from === undefined || (to === undefined && from.includes(name)))
    return (await this.#lines()).filter(isWanted).length
  }

  async #lines(): Promise<(InboxLine & { readonly agent: Agent })[]> {
    const inboxes = this.#agents.map(async (agent) => {
      const lines = await this.#store.inbox(this.#run, agent)
      return lines.map((line) => ({ ...line, agent }))
    })
    return (await Promise.all(inboxes)).flat().map(({ reader, ...line }) => ({
      ...line,
      isLeased: line.isLeased && (reader === undefined || !isDeadHolder(reader)),
    }))
  }

  cancel(name: string): Promise<Cancelled> {
    const why = `cancelled by ${agentName(this.#agent)}`
    return this.#store.cancel(this.#run, name, why, this.#agent)
  }

  /** Returns unacknowledged messages to the inbox. */
  close(): Promise<void> {
    this.#open.clear()
    this.#updateRenewal()
    return this.#store.releaseReaders([this.#reader])
  }

  #deliver(leases: readonly Lease[]): Delivery {
    if (leases.length > 0) this.#open.add(leases)
    this.#updateRenewal()
    return {
      messages: leases.map(({ message }) => message),
      acknowledge: async () => {
        const isOurs = await this.#store.ack(leases)
        this.#open.delete(leases)
        this.#updateRenewal()
        return leases.flatMap(({ message }, place) => (isOurs[place] === true ? [] : [message]))
      },
    }
  }

  /** Renews the leases while a slow reader is alive. */
  #updateRenewal(): void {
    if (this.#open.size === 0) {
      clearInterval(this.#renewal)
      this.#renewal = undefined
    } else {
      this.#renewal ??= setInterval(() => this.#renew(), this.#store.times.readerLeaseMs / 3)
      this.#renewal.unref()
    }
  }

  #renew(): void {
    this.#store.renew(this.#run, this.#agent, this.#reader).catch(() => {
      // An expired lease is reported when it is acknowledged.
    })
  }

  async #releaseDead(): Promise<void> {
    const dead = await deadHolders(this.#store, this.#run)
    if (dead.length > 0) await this.#store.releaseReaders(dead)
  }
}

export function toTask({
  id = `t-${randomLetters(16)}`,
  name = generatedName(id),
  prompt,
  retry,
  ...options
}: Push): FollowUp {
  return { id, name, prompt, retry, options }
}

/** Long enough to avoid collisions among ten thousand names. */
const NAME_LENGTH = 10

/** The generated name of a task without one; the same id always gives the same name. */
export function generatedName(id: string): string {
  return `task-${Bun.hash(id).toString(36).padStart(NAME_LENGTH, '0').slice(-NAME_LENGTH)}`
}

/** Identifies a reader or worker, so that others can see whether its process is alive. */
export function makeHolder(kind: 'r' | 'w'): string {
  return `${ownIdentity() ?? 'unknown'}/${kind}-${randomLetters(10)}`
}

/** Holders of tasks or messages of a run whose process is certainly gone. */
export async function deadHolders(store: QueueStore, run: string): Promise<string[]> {
  return (await store.holders(run)).filter(isDeadHolder)
}

function isDeadHolder(holder: string): boolean {
  return lifeOf(holder.split('/', 1)[0]!) === 'dead'
}
