import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { environment } from './forkhestra.ts'
import { makeProject, writeFiles, type Files } from './project.ts'

const ROOT = join(import.meta.dir, '../..')

/** A project whose programs can import the library, as after `npm install`. */
export function makeScriptProject(files: Files): string {
  const cwd = makeProject(files)
  mkdirSync(join(cwd, 'node_modules'))
  symlinkSync(ROOT, join(cwd, 'node_modules/forkhestra'))
  return cwd
}

/** A running program that uses the library. */
export class Script {
  readonly #process
  readonly #lines: AsyncIterator<string>
  readonly #errors: Promise<string>

  constructor(cwd: string, text: string) {
    writeFiles(cwd, { 'script.ts': text })
    this.#process = Bun.spawn([process.execPath, 'script.ts'], {
      cwd,
      env: environment({ cwd }),
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    this.#lines = linesOf(this.#process.stdout)
    this.#errors = this.#process.stderr.text()
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  /** Waits until it has printed this line. */
  async printed(wanted: string): Promise<void> {
    for (;;) {
      const { done, value } = await this.#lines.next()
      if (done === true) throw new Error(`ended without '${wanted}': ${await this.#errors}`)
      if (value === wanted) return
    }
  }

  /** The rest of its output, and its exit code or signal. */
  async end(): Promise<{ readonly end: number | string; readonly lines: string[] }> {
    const lines: string[] = []
    for (;;) {
      const { done, value } = await this.#lines.next()
      if (done === true) break
      lines.push(value)
    }
    const errors = await this.#errors
    if (errors !== '') throw new Error(errors)
    await this.#process.exited
    return { end: this.#process.signalCode ?? this.#process.exitCode!, lines }
  }
}

/** Runs a program that uses the library to its end; each line that it prints is JSON. */
export async function runScript(cwd: string, text: string): Promise<unknown[]> {
  const { end, lines } = await new Script(cwd, text).end()
  if (end !== 0) throw new Error(`ended with ${end}: ${lines.join('\n')}`)
  return lines.map((line): unknown => JSON.parse(line))
}

async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = ''
  const decoder = new TextDecoder()
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n')
    rest = lines.pop()!
    yield* lines
  }
}
