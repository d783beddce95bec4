import { QueueError } from '../refusal.ts'

/** So many may share a transaction: other processes wait for its end. */
const MOST = 64

type Transact = <Result>(work: () => Result) => Promise<Result>

interface Member {
  readonly work: () => unknown
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Lets what is written at the same time share a transaction, since the disk takes as long for one as
 * for many. Where one of them fails, nothing of it stays, and each has a transaction of its own.
 */
export class Group {
  readonly #transact: Transact
  #waiting: Member[] = []
  #working: Promise<void> | undefined

  constructor(transact: Transact) {
    this.#transact = transact
  }

  add<Result>(work: () => Result): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    this.#waiting.push({ work, resolve: (result) => resolve(result as Result), reject })
    this.#working ??= this.#work()
    return promise
  }

  /** Settles when nothing waits. */
  async done(): Promise<void> {
    while (this.#working !== undefined) await this.#working
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      // What has happened by now may lead to more that is to be written.
      await new Promise((resolve) => setImmediate(resolve))
      await this.#write(this.#waiting.splice(0, MOST))
    }
    this.#working = undefined
  }

  async #write(members: readonly Member[]): Promise<void> {
    try {
      const results = await this.#transact(() => members.map(({ work }) => work()))
      for (const [place, { resolve }] of members.entries()) resolve(results[place])
    } catch (error) {
      const isAlone = members.length === 1
      // It was waited for long enough.
      const isBusy = error instanceof QueueError && error.refusal.kind === 'busy'
      if (isAlone || isBusy) for (const { reject } of members) reject(error)
      else for (const member of members) await this.#write([member])
    }
  }
}
