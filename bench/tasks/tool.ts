import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { makeProject } from '../project.ts'
import { countMarks, countReady, makeNew, markOf, wordOf, type Work } from './work.ts'

export const COMMANDS = ['start', 'list', 'ready', 'view', 'edit', 'create'] as const
export type Command = (typeof COMMANDS)[number]

/** A task tracker, and the commands that make it do the same work as the others. */
export interface Tool {
  readonly name: string
  readonly version: string
  /** The file or folder of the project in which it keeps its tasks. */
  readonly store: string
  /** Writes tasks in its own format: creating 10 000 by command would take hours with some tools. */
  prepare(project: string, tasks: readonly Work[]): void
  /** `turn` differs from call to call, so that every edit changes something. */
  argv(command: Command, target: Work, turn: number): readonly string[]
  /** The command that comes closest to a claim. */
  claim(target: Work, agent: string): readonly string[]
  ids(stored: string): string[]
  env?(project: string): Readonly<Record<string, string>>
}

/** A tool with a project of a certain size. */
export interface Bench {
  readonly tool: Tool
  readonly project: string
  readonly tasks: readonly Work[]
  readonly env: Readonly<Record<string, string>>
}

export const LIMIT_MS = 120_000

/** In a git repository with everything committed, and with a separate home folder. */
export function makeBench(tool: Tool, tasks: readonly Work[]): Bench {
  const folder = makeProject({ 'home/.keep': '', 'project/README.md': '# A project\n' })
  const project = join(folder, 'project')
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: join(folder, 'home'),
    LANG: 'C.UTF-8',
    USER: 'bench',
    DO_NOT_TRACK: '1',
    NO_UPDATE_NOTIFIER: '1',
    ...tool.env?.(project),
  }
  git(project, env, 'init', '-q')
  tool.prepare(project, tasks)
  git(project, env, 'add', '.')
  git(project, env, '-c', 'user.name=b', '-c', 'user.email=b@b', 'commit', '-qm', 'tasks')
  return { tool, project, tasks, env }
}

function git(cwd: string, env: Record<string, string>, ...args: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(['git', '-c', 'gc.auto=0', ...args], { cwd, env })
  if (exitCode !== 0) throw new Error(`git ${args.join(' ')}: ${stderr.toString()}`)
}

/** The task to view and edit: not done, and neither the first nor the last. */
export function targetOf({ tasks }: Bench): Work {
  return tasks[Math.floor(tasks.length * 0.6)] ?? makeNew(0)
}

export function argvOf(bench: Bench, command: Command, turn: number): readonly string[] {
  return bench.tool.argv(command, command === 'create' ? makeNew(turn) : targetOf(bench), turn)
}

/** Thrown if a call fails that worked in the trial. */
export class Failed extends Error {}

/** How long a call takes, in ms. */
export function timeOfCall(argv: readonly string[], { project, env }: Bench): number {
  const began = performance.now()
  const { exitCode } = Bun.spawnSync([...argv], {
    cwd: project,
    env,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'ignore',
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  const ms = performance.now() - began
  if (exitCode !== 0) throw new Failed(`\`${argv.join(' ')}\` ended with ${exitCode}`)
  return ms
}

export type Trial =
  | { readonly kind: 'worked'; readonly ms: number }
  | { readonly kind: 'failed'; readonly why: string }
  | { readonly kind: 'too slow' }

/** Runs a command once and checks its effect: one that fails at once must not count as fast. */
export function tryOut(bench: Bench, command: Command): Trial {
  const before = command === 'edit' ? storedText(bench) : ''
  // To a file: some tools exit before their pipe is drained and lose output.
  const out = join(bench.project, '..', 'out')
  rmSync(out, { force: true })
  const began = performance.now()
  const { exitCode, exitedDueToTimeout, stderr } = Bun.spawnSync([...argvOf(bench, command, 0)], {
    cwd: bench.project,
    env: bench.env,
    stdin: 'ignore',
    stdout: Bun.file(out),
    timeout: LIMIT_MS,
    killSignal: 'SIGKILL',
  })
  const ms = performance.now() - began
  if (exitedDueToTimeout === true) return { kind: 'too slow' }
  if (exitCode !== 0) {
    return { kind: 'failed', why: `exit code ${exitCode}: ${firstLine(stderr.toString())}` }
  }
  const why = whyUndone(bench, command, readFileSync(out, 'utf8'), before)
  return why === undefined ? { kind: 'worked', ms } : { kind: 'failed', why }
}

function whyUndone(
  bench: Bench,
  command: Command,
  out: string,
  before: string,
): string | undefined {
  const shows = (text: string) => (out.includes(text) ? undefined : `does not print ${text}`)
  const counts = (expected: number) => {
    const found = countMarks(out)
    return found === expected ? undefined : `prints ${found} tasks instead of ${expected}`
  }
  switch (command) {
    case 'start':
      return shows(bench.tool.version)
    case 'list':
      return counts(bench.tasks.length)
    case 'ready':
      return counts(countReady(bench.tasks))
    case 'view':
      return shows(markOf(targetOf(bench).number)) ?? shows(wordOf(targetOf(bench).number))
    case 'edit':
      return storedText(bench) === before ? 'changes nothing' : undefined
    case 'create':
      return storedText(bench).includes(makeNew(0).title) ? undefined : 'stores nothing'
  }
}

/** Everything that a tool stores about its tasks. */
export function storedText({ tool, project }: Bench): string {
  return textBelow(join(project, tool.store))
}

function textBelow(path: string): string {
  if (!statSync(path).isDirectory()) return readFileSync(path, 'utf8')
  return readdirSync(path)
    .map((name) => textBelow(join(path, name)))
    .join('\n')
}

function firstLine(text: string): string {
  return text.trim().split('\n')[0] ?? ''
}
