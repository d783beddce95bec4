import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { environment, type Finished } from './forkhestra.ts'
import { makeProject } from './project.ts'

export const FORGE_TASKS = join(import.meta.dir, '../../bin/forge-tasks')

/** A wrapper that makes file permissions apply to root as well. */
export const WITHOUT_PRIVILEGES =
  process.getuid?.() === 0
    ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search', FORGE_TASKS]
    : [FORGE_TASKS]

/** A wrapper that makes the working folder read-only for this process. */
export const ON_READ_ONLY_DISK = [
  'unshare',
  '-rm',
  'sh',
  '-c',
  'mount --bind "$PWD" "$PWD" && mount -o remount,bind,ro "$PWD" && cd "$PWD" && exec "$0" "$@"',
  FORGE_TASKS,
]

interface Options {
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string>>
  readonly program?: readonly string[]
  /** A command that hangs is killed after this time. */
  readonly timeoutMs?: number
}

/** A throw-away project, and the real program in it. */
export class TaskProject {
  readonly root: string
  readonly folder: string

  constructor(files: Readonly<Record<string, string | Uint8Array>> = {}) {
    this.root = makeProject()
    this.folder = join(this.root, 'forge/tasks')
    mkdirSync(join(this.folder, 'archive'), { recursive: true })
    for (const [name, content] of Object.entries(files)) this.write(name, content)
  }

  async run(args: readonly string[], options: Options = {}): Promise<Finished> {
    const child = Bun.spawn([...(options.program ?? [FORGE_TASKS]), ...args], {
      cwd: this.root,
      env: environment({ cwd: this.root, env: { USER: 'me', ...options.env } }),
      stdin: options.stdin === undefined ? 'ignore' : Buffer.from(options.stdin),
      stdout: 'pipe',
      stderr: 'pipe',
      timeout: options.timeoutMs ?? 120_000,
      killSignal: 'SIGKILL',
    })
    const [stdout, stderr, code] = await Promise.all([
      child.stdout.text(),
      child.stderr.text(),
      child.exited,
    ])
    return { code, stdout: this.steady(stdout), stderr: this.steady(stderr) }
  }

  /** Like `run`, but throws if the command fails. */
  async must(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args)
    if (code !== 0) throw new Error(`${args.join(' ')}: exit code ${code}\n${stderr}`)
    return stdout
  }

  async json(...args: readonly string[]): Promise<unknown> {
    return JSON.parse(await this.must(...args, '--json')) as unknown
  }

  names(): string[] {
    return readdirSync(this.folder)
      .filter((name) => name.endsWith('.md'))
      .toSorted()
  }

  read(name: string): string {
    return this.steady(readFileSync(join(this.folder, name), 'utf8'))
  }

  bytes(name: string): Buffer {
    return readFileSync(join(this.folder, name))
  }

  write(name: string, content: string | Uint8Array): void {
    writeFileSync(join(this.folder, name), content)
  }

  /** Replaces what differs from run to run. */
  private steady(text: string): string {
    return text
      .replaceAll(/\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d\.\d{3}Z| \d\d:\d\d)/g, '<time>')
      .replaceAll(this.root, '<root>')
  }
}

/** A task file as forge-tasks writes it, with these lines of frontmatter and this body. */
export function taskText(lines: readonly string[], body = ''): string {
  return `---\n${lines.join('\n')}\n---\n\n${body}`
}
