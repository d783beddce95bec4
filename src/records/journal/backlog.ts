/** At most this many files are kept for a retry; the events contain the rest. */
const MOST = 1000

/** Files of a record that could not be written and are retried later. */
export class Backlog {
  readonly #waiting = new Map<string, () => void>()

  get isEmpty(): boolean {
    return this.#waiting.size === 0
  }

  /** Runs `job`, which writes a file; if it fails, keeps the job for `retry` and throws. */
  write(path: string, job: () => void): void {
    try {
      job()
      this.#waiting.delete(path)
    } catch (error) {
      if (this.#waiting.size < MOST) this.#waiting.set(path, job)
      throw error
    }
  }

  /** Retries all jobs, up to the first that still fails. */
  retry(): void {
    for (const [path, job] of this.#waiting) this.write(path, job)
  }
}
