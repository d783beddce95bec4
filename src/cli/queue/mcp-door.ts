import { statOf } from '../../base/files.ts'
import type { QueueDoor, Seat } from '../../verbs/door.ts'
import type { Input } from '../command.ts'
import type { StopSwitch } from '../signals.ts'
import { isDriven, withDesk, type Caller, type Opened } from './caller.ts'
import { checkAgent } from './check-agent.ts'
import { Driver } from './driver.ts'
import { receiveWhileDriven } from './read.ts'

/** The queues for the calls of one MCP client. */
export class McpDoor implements QueueDoor {
  readonly #input: Input
  readonly #stop: StopSwitch
  readonly #onBug: (error: unknown) => void
  readonly #drivers = new Map<string, Driver>()
  readonly #open = new Set<Promise<unknown>>()
  #entering: Promise<void> = Promise.resolve()
  #run: Pick<Caller, 'run' | 'record'> | undefined

  constructor(input: Input, stop: StopSwitch, onBug: (error: unknown) => void) {
    this.#input = input
    this.#stop = stop
    this.#onBug = onBug
  }

  use<Result>(
    makes: 'makes' | 'looks',
    work: (seat: Seat) => Promise<Result>,
    nothing: () => Result,
  ): Promise<Result> {
    const using = this.#use(makes, work, nothing)
    this.#open.add(using)
    const over = () => this.#open.delete(using)
    using.then(over, over)
    return using
  }

  checkAgent(name: string): Promise<void> {
    return checkAgent(this.#sameRun(), name)
  }

  warn(text: string): void {
    console.error(`[forkhestra] Warning: ${text}`)
  }

  /** Ends what was started here and gives back what nobody has taken. */
  async close(): Promise<void> {
    if (!this.#stop.stop.aborted) this.#stop.press('SIGTERM', 'left by its MCP client')
    await Promise.allSettled(this.#open)
    await Promise.all([...this.#drivers.values()].map((driver) => driver.over))
  }

  /** One call enters after the other, so that no two of them open a run of their own. */
  async #use<Result>(
    makes: 'makes' | 'looks',
    work: (seat: Seat) => Promise<Result>,
    nothing: () => Result,
  ): Promise<Result> {
    const before = this.#entering
    const entered = Promise.withResolvers<void>()
    this.#entering = entered.promise
    await before
    const enter = (opened: Opened) => {
      const { run, record } = opened
      this.#run = { run, record }
      entered.resolve()
      return work(this.#seatAt(opened))
    }
    try {
      return await withDesk(this.#sameRun(), makes, enter, nothing)
    } finally {
      entered.resolve()
    }
  }

  /** A conversation stays with the run that it began with, also if a newer one begins. */
  #sameRun(): Input {
    const isThere = this.#run !== undefined && statOf(this.#run.record) !== undefined
    if (!isThere) this.#run = undefined
    const text = (option: string) =>
      (option === 'run' ? this.#run?.run : undefined) ?? this.#input.text(option)
    return { ...this.#input, text }
  }

  #seatAt(opened: Opened): Seat {
    const { desk, isInside, record } = opened
    return {
      desk,
      begin: async () => {
        if (!isInside) await this.#driverOf(opened).begin()
      },
      receive: async (query, signal) => {
        const driver = () => this.#drivers.get(record)
        const isWorkedAt = () => driver()?.isAtWork === true || isDriven(opened)
        const received = await receiveWhileDriven(opened, query, signal, isWorkedAt)
        const trouble = driver()?.trouble
        const isInVain = received.status === 'nothing_to_wait_for' && received.messages.length === 0
        if (isInVain && trouble !== undefined) throw trouble
        return received
      },
    }
  }

  #driverOf({ run, record }: Opened): Driver {
    const known = this.#drivers.get(record)
    if (known !== undefined) return known
    const driver = new Driver(this.#input, { run, record }, this.#stop, this.#onBug)
    this.#drivers.set(record, driver)
    return driver
  }
}
