import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { environment } from '../../support/forkhestra.ts'
import type { Home, OpenOptions } from './home.ts'
import type { Orders } from './process.ts'
import { RUN } from './stage.ts'

/** One process that works with a store, and the words that it said. */
export class Mate {
  readonly #child
  readonly #lines: string[][] = []
  readonly #finished: Promise<void>
  #onLine: () => void = () => {}

  constructor(home: Home, place: string, job: Orders['job'], name: string, options: OpenOptions) {
    const { module, opener } = home
    const orders: Orders = { module, opener, place, run: RUN, options, job, name }
    const script = join(import.meta.dir, 'process.ts')
    this.#child = Bun.spawn([process.execPath, script, JSON.stringify(orders)], {
      // With no cache of its own the home stays as clean as it was.
      env: environment({ cwd: tmpdir(), env: { BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0' } }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#finished = this.#finish()
    // It is awaited later, or not at all.
    this.#finished.catch(() => {})
  }

  get lines(): readonly (readonly string[])[] {
    return this.#lines
  }

  /** Its whole lines once it is gone; an end of its own accord must be a good one. */
  async finish(): Promise<readonly (readonly string[])[]> {
    await this.#finished
    return this.#lines
  }

  async kill(): Promise<readonly (readonly string[])[]> {
    this.#child.kill('SIGKILL')
    return this.finish()
  }

  /** Resolves when it has said so many lines. */
  async said(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onLine = () => {
      if (this.#lines.length >= count) resolve()
    }
    this.#onLine()
    await Promise.race([promise, this.#finished])
  }

  async #finish(): Promise<void> {
    const [code, stderr] = await Promise.all([
      this.#child.exited,
      new Response(this.#child.stderr).text(),
      this.#listen(this.#child.stdout),
    ])
    if (code !== 0 && !this.#child.killed) throw new Error(stderr)
  }

  async #listen(stdout: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    let rest = ''
    for await (const text of stdout.pipeThrough(new TextDecoderStream())) {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      for (const line of lines) this.#lines.push(line.split(' '))
      this.#onLine()
    }
  }
}
