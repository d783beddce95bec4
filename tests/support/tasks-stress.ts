import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { processIdentity } from '../../src/base/linux/process-identity.ts'
import { environment, FORKHESTRA, type Finished } from './forkhestra.ts'
import { makeProject } from './project.ts'

const FORGE_TASKS = join(FORKHESTRA, '../forge-tasks')

interface Options {
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  readonly program?: readonly string[]
  /** Kills it with SIGKILL after this many milliseconds. */
  readonly killAfterMs?: number
}

/** Runs the real program until it ends or is killed. */
export async function forgeTasks(
  cwd: string,
  args: readonly string[],
  { env = {}, stdin, program = [FORGE_TASKS], killAfterMs }: Options = {},
): Promise<Finished> {
  const child = Bun.spawn([...program, ...args], {
    cwd,
    env: environment({ cwd, env }),
    stdin: stdin === undefined ? 'ignore' : new Blob([stdin]),
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const timer =
    killAfterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ])
  clearTimeout(timer)
  return { code, stdout, stderr }
}

/** Like `forgeTasks`, but must succeed; returns stdout. */
export async function mustTasks(
  cwd: string,
  args: readonly string[],
  options: Options = {},
): Promise<string> {
  const { code, stdout, stderr } = await forgeTasks(cwd, args, options)
  if (code !== 0) throw new Error(`forge-tasks ${args.join(' ')}: exit code ${code}\n${stderr}`)
  return stdout.trim()
}

/** Runs this many workers in parallel until all have ended. */
export async function inLanes<Result>(
  count: number,
  work: (lane: number) => Promise<Result>,
): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, async (_, lane) => work(lane)))
}

/** Spreads jobs over the workers; each takes the next one when it is free. */
export async function shareOut<Job, Result>(
  lanes: number,
  jobs: readonly Job[],
  work: (job: Job, lane: number) => Promise<Result>,
): Promise<Result[]> {
  const rest = [...jobs]
  const results: Result[] = []
  await inLanes(lanes, async (lane) => {
    for (let job = rest.shift(); job !== undefined; job = rest.shift()) {
      results.push(await work(job, lane))
    }
  })
  return results
}

export async function git(cwd: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await tryGit(cwd, ...args)
  if (code !== 0) throw new Error(`git ${args.join(' ')}: exit code ${code}\n${stdout}${stderr}`)
  return stdout.trim()
}

export async function tryGit(cwd: string, ...args: string[]): Promise<Finished> {
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com']
  const child = Bun.spawn(['git', ...who, ...args], {
    cwd,
    env: environment({ cwd, env: { GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' } }),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [code, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ])
  return { code, stdout, stderr }
}

export async function commitAll(cwd: string, message: string): Promise<void> {
  await git(cwd, 'add', '-A')
  await git(cwd, 'commit', '-q', '--allow-empty', '-m', message)
}

/** A clone with these tasks committed; `NAME` of each is its title. */
export async function makeClone(titles: readonly string[] = []): Promise<string> {
  const root = join(makeProject({ 'main/README': 'A project.\n' }), 'main')
  await git(root, 'init', '-q', '-b', 'main')
  if (titles.length > 0) await createBatch(root, titles)
  await commitAll(root, 'Begin')
  return root
}

/** Adds worktrees `w2`, `w3`, … beside a clone, each on a branch of its name. */
export async function addWorktrees(root: string, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, index) => `w${index + 2}`)
  for (const name of names) await git(root, 'worktree', 'add', '-q', '-b', name, `../${name}`)
  return names.map((name) => join(root, '..', name))
}

export async function createBatch(cwd: string, titles: readonly string[]): Promise<string[]> {
  const stdin = titles.map((title) => JSON.stringify({ title })).join('\n')
  return (await mustTasks(cwd, ['create', '--batch', '--plain'], { stdin })).split('\n')
}

export interface TaskFile {
  readonly name: string
  readonly id: string
  readonly status: string
  readonly title: string
  readonly text: string
}

/** Reads the task files of a checkout without the program; throws for an incomplete one. */
export function readTaskFiles(root: string): TaskFile[] {
  const folder = join(root, 'forge/tasks')
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md') && !name.startsWith('.'))
    .map((name) => {
      const text = readFileSync(join(folder, name), 'utf8')
      const match =
        /^---\nid: (\S+)\ntitle: (.+)\nstatus: (.+)\n(?:.+\n)*createdAt: \S+Z\n(?:.+\n)*---\n\n## Description\n[^]*<!-- AC:END -->\n\n## Implementation Plan\n[^]*## Implementation Notes\n(?:[^]*\n)?$/.exec(
          text,
        )
      if (match === null) throw new Error(`${name} is not whole:\n${text}`)
      const [, id = '', title = '', status = ''] = match
      return { name, id, title, status, text }
    })
}

/** One field in the output of `forge-tasks next --claim --plain` or `view`. */
export function fieldOf(brief: string, key: string): string | undefined {
  return new RegExp(`^${key}: (.*)$`, 'm').exec(brief)?.[1]
}

export function numbered(word: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${word} ${index + 1}`)
}

/** Waits for something that only time causes, such as the end of a lease. */
export async function until<Result>(ask: () => Promise<Result | undefined>): Promise<Result> {
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    await Bun.sleep(50)
  }
}

/** A process that acts as a run, and the environment of its agents. */
export function startRun(id: string) {
  const child = Bun.spawn(['sleep', '600'], { env: environment({ cwd: '/' }), stdin: 'ignore' })
  const identity = processIdentity(child.pid)!
  return {
    env: (iteration: number) => ({
      FORKHESTRA_RUN_ID: id,
      FORKHESTRA_STEP: '0',
      FORKHESTRA_ITERATION: String(iteration),
      FORKHESTRA_AGENT: 'builder',
      FORKHESTRA_RUN_PROCESS: identity,
    }),
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}
