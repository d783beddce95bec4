import { Terminal } from '@xterm/headless'
import { join } from 'node:path'
import { environment } from './forkhestra.ts'

interface Options {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly columns?: number
  readonly rows?: number
}

/** How long to wait for the expected screen. */
const PATIENCE_MS = 120_000

/** The modes of a fresh terminal. */
const FRESH_MODES = readFreshModes()

/** A program on its own terminal, with the screen as a person would see it. */
export class Pty implements AsyncDisposable {
  /** Everything that was written to the terminal. */
  output = ''
  readonly #screen: Terminal
  readonly #process
  #onChange = Promise.withResolvers<void>()

  constructor(argv: readonly string[], { cwd, env = {}, columns = 100, rows = 24 }: Options) {
    this.#screen = new Terminal({ cols: columns, rows, allowProposedApi: true })
    this.#process = Bun.spawn([...argv], {
      cwd,
      env: environment({ cwd, env: { TERM: 'xterm-256color', USER: 'me', ...env } }),
      terminal: { cols: columns, rows, data: (_, bytes) => this.#take(bytes) },
    })
  }

  get exited(): Promise<number> {
    return this.#process.exited
  }

  get pid(): number {
    return this.#process.pid
  }

  /** The lines of the screen, without trailing spaces. */
  get lines(): string[] {
    const { active } = this.#screen.buffer
    return Array.from({ length: this.#screen.rows }, (_, row) => {
      return (
        active
          .getLine(active.baseY + row)
          ?.translateToString()
          .trimEnd() ?? ''
      )
    })
  }

  get text(): string {
    return this.lines.join('\n')
  }

  type(keys: string): void {
    this.#process.terminal!.write(keys)
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  resize(columns: number, rows: number): void {
    this.#screen.resize(columns, rows)
    this.#process.terminal!.resize(columns, rows)
  }

  /** Closes the terminal, like closing its window. */
  hangUp(): void {
    this.#process.terminal!.close()
  }

  /** Waits until the screen shows this. */
  async shows(wanted: string | RegExp): Promise<void> {
    await this.until(() =>
      typeof wanted === 'string' ? this.text.includes(wanted) : wanted.test(this.text),
    )
  }

  async until(isSo: () => boolean): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<'late'>()
    const timer = setTimeout(() => resolve('late'), PATIENCE_MS)
    try {
      while (!isSo()) {
        if ((await Promise.race([this.#onChange.promise, late])) === 'late') {
          throw new Error(`The screen is still:\n${this.text}`)
        }
      }
    } finally {
      clearTimeout(timer)
    }
  }

  /** The modes of the terminal that the program has not restored. */
  leftBehind(): string[] {
    const isOn = (mode: string) =>
      this.output.lastIndexOf(`\u001b[?${mode}h`) > this.output.lastIndexOf(`\u001b[?${mode}l`)
    return [
      ...(readModes(this.#process.terminal!) === FRESH_MODES ? [] : ['modes of the terminal']),
      ...(this.#screen.buffer.active.type === 'normal' ? [] : ['the alternate screen']),
      ...(this.output.includes('\u001b[?25l') && !isOn('25') ? ['a hidden cursor'] : []),
      ...(this.output.includes('\u001b[?7l') && !isOn('7') ? ['lines that do not wrap'] : []),
      ...(isOn('2004') ? ['marked pastes'] : []),
      ...(isOn('1000') || isOn('1006') ? ['the mouse'] : []),
      ...(isOn('2026') ? ['a frame that does not end'] : []),
    ]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#process.exited
    this.#process.terminal!.close()
    this.#screen.dispose()
  }

  #take(bytes: Uint8Array): void {
    this.output += Buffer.from(bytes).toString('latin1')
    this.#screen.write(bytes, () => {
      this.#onChange.resolve()
      this.#onChange = Promise.withResolvers()
    })
  }
}

function readFreshModes(): string {
  const terminal = new Bun.Terminal({})
  try {
    return readModes(terminal)
  } finally {
    terminal.close()
  }
}

function readModes(terminal: Bun.Terminal): string {
  const { inputFlags, outputFlags, localFlags, controlFlags } = terminal
  return [inputFlags, outputFlags, localFlags, controlFlags].join()
}

const FORGE_TASKS = join(import.meta.dir, '../../bin/forge-tasks')

/** The board in a project. */
export function openBoard(options: Options): Pty {
  return new Pty([FORGE_TASKS, 'board'], options)
}
