import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { takeSnapshot } from '../src/run/progress/git-snapshot.ts'
import type { Figure } from './figure.ts'
import { environment, makeProject } from './project.ts'

const FOLDERS = 400
const FILES_EACH = 25
const ROUNDS = 31

/** The time to detect progress after an iteration, in a repository of 10 000 files. */
export async function measureProgress(): Promise<Figure[]> {
  const root = await makeRepository()
  const env = environment(root)
  const times = { status: [], unchanged: [], dirty: [] } as Record<string, number[]>
  const take = async (name: string, work: () => Promise<unknown>) => {
    const began = performance.now()
    await work()
    times[name]!.push(performance.now() - began)
  }
  // Interleaved, so that other load on the machine affects all of them.
  for (let round = 0; round < ROUNDS; round++) {
    await take('status', async () => git(root, '--no-optional-locks', 'status', '--porcelain'))
    await take('unchanged', async () => takeSnapshot(root, env))
    changeThree(root, round)
    await take('dirty', async () => takeSnapshot(root, env))
    await commitAll(root)
  }
  const best = (name: string) => Math.min(...times[name]!)
  const figure = { group: 'progress', unit: 'ms', base: best('status'), limit: 1.3 } as const
  return [
    {
      ...figure,
      name: 'a look at 10 000 files, against git status',
      measured: best('unchanged'),
    },
    { ...figure, name: 'the same with three files changed', measured: best('dirty') },
  ]
}

async function makeRepository(): Promise<string> {
  const paths = Array.from({ length: FOLDERS }, (_, folder) =>
    Array.from({ length: FILES_EACH }, (__, file) => pathOf(folder, file)),
  ).flat()
  const files = Object.fromEntries(paths.map((path) => [path, `export const name = '${path}'\n`]))
  const root = makeProject(files)
  await git(root, 'init', '-q')
  await git(root, 'config', 'user.name', 'Bench')
  await git(root, 'config', 'user.email', 'bench@example.org')
  await commitAll(root)
  return root
}

function pathOf(folder: number, file: number): string {
  return `part-${folder % 20}/folder-${folder}/file-${file}.ts`
}

function changeThree(root: string, round: number): void {
  for (const folder of [round, round + 100, round + 200]) {
    appendFileSync(join(root, pathOf(folder, round % FILES_EACH)), '// changed\n')
  }
}

async function commitAll(root: string): Promise<void> {
  await git(root, 'add', '-A')
  await git(root, 'commit', '-q', '-m', 'Change')
}

async function git(cwd: string, ...args: string[]): Promise<void> {
  const io = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const
  const child = Bun.spawn(['git', ...args], { cwd, env: environment(cwd), ...io })
  if ((await child.exited) !== 0) throw new Error(`git ${args.join(' ')} failed.`)
}
