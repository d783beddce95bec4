/** So many files are tried again; of more than that the events tell what was in them. */
const MOST = 1000

/** Files of a record that are written as soon as the disk has room for them. */
export class Backlog {
  readonly #waiting = new Map<string, () => void>()

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  /** Writes a file; where that fails, it is also kept how it is done. */
  write(path: string, job: () => void): void {
    try {
      job()
      this.#waiting.delete(path)
    } catch (error) {
      if (this.#waiting.size < MOST) this.#waiting.set(path, job)
      throw error
    }
  }

  /** Tries all of them again, up to the first that still fails. */
  retry(): void {
    for (const [path, job] of this.#waiting) this.write(path, job)
  }
}
