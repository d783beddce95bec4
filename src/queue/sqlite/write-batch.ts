import { QueueError } from '../refusal.ts'

/** Limited, because other processes wait for the transaction. */
const MOST = 64

type Transact = <Result>(work: () => Result) => Promise<Result>

interface Member {
  readonly work: () => unknown
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Batches concurrent writes into one transaction, because each commit waits for the disk. If one of
 * them fails, each is repeated in a separate transaction.
 */
export class WriteBatch {
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

  async done(): Promise<void> {
    while (this.#working !== undefined) await this.#working
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Lets other callbacks add to the batch.
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
      // The connection has already waited for a busy store.
      const isBusy = error instanceof QueueError && error.refusal.kind === 'busy'
      if (isAlone || isBusy) for (const { reject } of members) reject(error)
      else for (const member of members) await this.#write([member])
    }
  }
}
