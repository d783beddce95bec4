/** Follows the numbers of events, and says which of them are not there. */
export class Damage {
  #seq: number
  /** Lines with a number that were not looked into since then. */
  #passed = 0
  #hasBroken = false
  readonly #found: string[] = []

  /** `seq` is the number of the last event before. */
  constructor(seq: number) {
    this.#seq = seq
  }

  /** A line that holds an event with a number, whatever that is. */
  pass(): void {
    this.#passed += 1
  }

  /** A line that is no event. */
  break(): void {
    this.#hasBroken = true
  }

  take(seq: number): void {
    const first = this.#seq + this.#passed + 1
    // Which of those between it was, nobody can tell from here.
    if (seq > first) this.#found.push(missingWords(first - this.#passed, seq - 1, seq - first))
    else if (this.#hasBroken) this.#found.push(`a line behind event ${this.#seq} cannot be read`)
    this.#seq = seq
    this.#passed = 0
    this.#hasBroken = false
  }

  /** The number of the last line that was passed, where nothing came behind it. */
  end(seq: number): void {
    this.#passed -= 1
    this.take(seq)
  }

  /** An event of that number was there once. */
  endBefore(seq: number): void {
    const first = this.#seq + 1
    if (seq >= first) this.#found.push(missingWords(first, seq, seq - this.#seq))
  }

  /** In words; empty where all is as it should be. */
  get words(): readonly string[] {
    return this.#found
  }
}

function missingWords(from: number, to: number, count: number): string {
  if (from === to) return `event ${from} is missing`
  return count === to - from + 1
    ? `events ${from} to ${to} are missing`
    : `${count} of the events ${from} to ${to} ${count === 1 ? 'is' : 'are'} missing`
}
