import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The program under test, as `npm run build` makes it. */
export const FORKHESTRA = join(import.meta.dir, '../../bin/forkhestra')

const TEST_VARIABLE = 'FORKHESTRA_TEST_PROCESS'
const testId = `${process.pid}-${Math.random().toString(36).slice(2)}`

interface Options {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

export interface Finished {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** Only PATH and a private home, so that tests do not depend on the machine. */
export function environment({ cwd, env = {} }: Options): Record<string, string> {
  return {
    PATH: `${cwd}:${process.env['PATH']}`,
    HOME: cwd,
    XDG_STATE_HOME: join(cwd, '.state'),
    XDG_CONFIG_HOME: join(cwd, '.config'),
    [TEST_VARIABLE]: testId,
    ...env,
  }
}

/** Runs the real program to its end. The project's folder is on PATH, so its scripts are agents. */
export async function forkhestra(args: readonly string[], options: Options): Promise<Finished> {
  return new Running(args, options).finished
}

/** The real program while it runs. */
export class Running {
  readonly #process
  readonly finished: Promise<Finished>
  #stdout = ''
  #stderr = ''
  readonly #waiting: (() => void)[] = []

  constructor(args: readonly string[], options: Options) {
    this.#process = Bun.spawn([FORKHESTRA, ...args], {
      cwd: options.cwd,
      env: environment(options),
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const out = this.#collect(this.#process.stdout, (text) => (this.#stdout += text))
    const err = this.#collect(this.#process.stderr, (text) => (this.#stderr += text))
    this.finished = Promise.all([this.#process.exited, out, err]).then(([code]) => ({
      code,
      stdout: this.#stdout,
      stderr: this.#stderr,
    }))
  }

  get pid(): number {
    return this.#process.pid
  }
  get stdout(): string {
    return this.#stdout
  }
  get stderr(): string {
    return this.#stderr
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  /** Waits until stdout contains the text. */
  printed(text: string): Promise<void> {
    return this.#said(text, () => this.#stdout)
  }

  /** Waits until stderr contains the text. */
  warned(text: string): Promise<void> {
    return this.#said(text, () => this.#stderr)
  }

  async #said(text: string, output: () => string): Promise<void> {
    while (!output().includes(text)) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#waiting.push(resolve)
      const ended = this.finished.then(() => 'ended' as const)
      if ((await Promise.race([promise, ended])) === 'ended' && !output().includes(text)) {
        throw new Error(`ended without printing '${text}':\n${this.#stdout}${this.#stderr}`)
      }
    }
  }

  async #collect(stream: ReadableStream<Uint8Array>, add: (text: string) => void): Promise<void> {
    const decoder = new TextDecoder()
    for await (const bytes of stream) {
      add(decoder.decode(bytes, { stream: true }))
      for (const wake of this.#waiting.splice(0)) wake()
    }
  }
}

/** Runs a line of bash with `forkhestra` on PATH, for redirections and pipes. */
export async function shell(
  line: string,
  cwd: string,
): Promise<{ code: number; stdout: Uint8Array; stderr: string }> {
  const child = Bun.spawn(['/bin/bash', '-c', line], {
    cwd,
    env: {
      ...environment({ cwd }),
      PATH: `${join(FORKHESTRA, '..')}:${cwd}:${process.env['PATH']}`,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, code] = await Promise.all([
    child.stdout.bytes(),
    child.stderr.text(),
    child.exited,
  ])
  return { code, stdout, stderr }
}

/** Processes of this test file that are still alive, except this one. */
export function survivors(): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) return []
    const environ = readProc(pid, 'environ')
    if (!environ.split('\0').includes(`${TEST_VARIABLE}=${testId}`)) return []
    return isAlive(Number(pid)) ? [`${pid} ${readProc(pid, 'cmdline').replaceAll('\0', ' ')}`] : []
  })
}

/** A zombie does not count, although a signal to it succeeds. */
export function isAlive(pid: number): boolean {
  const stat = readProc(String(pid), 'stat')
  return stat !== '' && !/^\) [ZX]/.test(stat.slice(stat.lastIndexOf(')')))
}

function readProc(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
