import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { environment } from '../../support/forkhestra.ts'
import type { StoreKind, OpenOptions } from './store-kind.ts'
import type { Orders } from './process.ts'
import { RUN } from './test-store.ts'

/** A process that uses a store, and the lines that it printed. */
export class StoreProcess {
  readonly #child
  readonly #lines: string[][] = []
  readonly #finished: Promise<void>
  #onLine: () => void = () => {}

  constructor(
    kind: StoreKind,
    place: string,
    job: Orders['job'],
    name: string,
    options: OpenOptions,
  ) {
    const { module, opener } = kind
    const orders: Orders = { module, opener, place, run: RUN, options, job, name }
    const script = join(import.meta.dir, 'process.ts')
    this.#child = Bun.spawn([process.execPath, script, JSON.stringify(orders)], {
      // Without a transpiler cache nothing is written to the kind folder.
      env: environment({ cwd: tmpdir(), env: { BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0' } }),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    this.#finished = this.#finish()
    // It may be awaited later or not at all.
    this.#finished.catch(() => {})
  }

  get lines(): readonly (readonly string[])[] {
    return this.#lines
  }

  /** Its lines after it has ended; throws if it failed without being killed. */
  async finish(): Promise<readonly (readonly string[])[]> {
    await this.#finished
    return this.#lines
  }

  async kill(): Promise<readonly (readonly string[])[]> {
    this.#child.kill('SIGKILL')
    return this.finish()
  }

  /** Resolves when it has printed this many lines. */
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
