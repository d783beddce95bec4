/** Tracks the numbers of events and reports gaps. */
export class Damage {
  #seq: number
  /** Numbered lines since then that were not parsed. */
  #passed = 0
  #hasBroken = false
  readonly #found: string[] = []

  /** `seq` is the number of the last event before. */
  constructor(seq: number) {
    this.#seq = seq
  }

  /** A line with a numbered event that is not parsed. */
  pass(): void {
    this.#passed += 1
  }

  /** A line that is not an event. */
  break(): void {
    this.#hasBroken = true
  }

  take(seq: number): void {
    const first = this.#seq + this.#passed + 1
    // The gap may be anywhere among the lines that were not parsed.
    if (seq > first) this.#found.push(describeMissing(first - this.#passed, seq - 1, seq - first))
    else if (this.#hasBroken) this.#found.push(`a line after event ${this.#seq} cannot be read`)
    this.#seq = seq
    this.#passed = 0
    this.#hasBroken = false
  }

  /** Ends with a passed line, whose number was read afterwards. */
  end(seq: number): void {
    this.#passed -= 1
    this.take(seq)
  }

  /** Reports the events up to `seq`, which existed once, as missing. */
  endBefore(seq: number): void {
    const first = this.#seq + 1
    if (seq >= first) this.#found.push(describeMissing(first, seq, seq - this.#seq))
  }

  get problems(): readonly string[] {
    return this.#found
  }
}

function describeMissing(from: number, to: number, count: number): string {
  if (from === to) return `event ${from} is missing`
  return count === to - from + 1
    ? `events ${from} to ${to} are missing`
    : `${count} of the events ${from} to ${to} ${count === 1 ? 'is' : 'are'} missing`
}
