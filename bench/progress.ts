import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { GitLooks } from '../src/run/git-looks.ts'
import { lookAtGit } from '../src/run/progress.ts'
import type { Figure } from './figure.ts'
import { environment, makeProject } from './project.ts'

const FOLDERS = 400
const FILES_EACH = 25
const ROUNDS = 31
/** With the next one a run begins to watch. */
const LOOKS_BEFORE = 2

/** What it takes after an iteration to see whether anything moved, in a repository of 10 000 files. */
export async function measureProgress(): Promise<Figure[]> {
  const root = await makeRepository()
  const env = environment(root)
  const looks = new GitLooks(root, env)
  for (let look = 0; look < LOOKS_BEFORE; look++) await looks.look([])
  const before = performance.now()
  await looks.look([])
  const begun = performance.now() - before
  const times = { status: [], nothing: [], commit: [], full: [] } as Record<string, number[]>
  const take = async (name: string, work: () => Promise<unknown>) => {
    const began = performance.now()
    await work()
    times[name]!.push(performance.now() - began)
  }
  // Side by side, so that what else the machine does is in all of them.
  for (let round = 0; round < ROUNDS; round++) {
    await take('status', async () => git(root, '--no-optional-locks', 'status', '--porcelain'))
    await take('nothing', async () => quickLook(looks))
    await changeThree(root, round)
    await take('commit', async () => quickLook(looks))
    await take('full', async () => lookAtGit(root, env))
  }
  looks.close()
  const best = (name: string) => Math.min(...times[name]!)
  const figure = { group: 'progress', unit: 'ms' } as const
  const status = best('status')
  const changed = 'a look after three of 10 000 files were changed and committed'
  const still = 'a look after nothing was changed in 10 000 files'
  return [
    { ...figure, name: changed, measured: best('commit'), limit: 10 },
    { ...figure, name: still, measured: best('nothing'), limit: 10 },
    { ...figure, name: `${changed}, against git status`, measured: best('commit'), base: status },
    { ...figure, name: `${still}, against git status`, measured: best('nothing'), base: status },
    {
      ...figure,
      name: 'a look at all files, as the first of a run',
      measured: best('full'),
      base: status,
    },
    { ...figure, name: 'the look at which a watch begins', measured: begun, base: status },
  ]
}

async function quickLook(looks: GitLooks): Promise<void> {
  await looks.look([])
  if (!looks.isQuick) throw new Error('The look was at all files.')
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

async function changeThree(root: string, round: number): Promise<void> {
  for (const folder of [round, round + 100, round + 200]) {
    appendFileSync(join(root, pathOf(folder, round % FILES_EACH)), '// changed\n')
  }
  await commitAll(root)
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
