import { isAbsolute } from 'node:path'
import { sendSignal } from './child.ts'
import { waitForOwn } from './own-children.ts'

export interface GitOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** By the clock of `performance.now()`: what takes longer is given up. */
  readonly deadline: number
}

/** More than the names of half a million files; whoever has more will not be told apart by them. */
const MOST_BYTES = 64 * 1024 * 1024

/** Agents work in the same repository: the index is never locked, and nothing of it is started. */
const QUIET = [
  '--no-pager',
  '--no-optional-locks',
  ...[
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    // What a partial clone does not have is not fetched.
    'protocol.allow=never',
  ].flatMap((each) => ['-c', each]),
]

/** For few paths, threads cost more than they bring. */
export const ALONE = ['-c', 'core.preloadIndex=false', '-c', 'index.threads=1']

/** What a git command that only reads says; undefined where it fails, takes too long, or git is missing. */
export async function askGit(
  args: readonly string[],
  { cwd, env, deadline }: GitOptions,
): Promise<Buffer | undefined> {
  const git = findGit(env['PATH'])
  const rest = deadline - performance.now()
  if (git === undefined || rest <= 0) return undefined
  let child: Bun.Subprocess<'ignore', 'pipe', 'ignore'>
  try {
    child = Bun.spawn([git, ...QUIET, ...args], {
      cwd,
      env,
      // A group of its own: git asks about submodules by further processes.
      detached: true,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'ignore',
      maxBuffer: MOST_BYTES,
      killSignal: 'SIGKILL',
    })
  } catch {
    return undefined
  }
  const timer = setTimeout(() => sendSignal(-child.pid, 'SIGKILL'), rest)
  try {
    // Meanwhile sub-agents may be at work, and with them the ends of orphans are looked for.
    const [said, code] = await waitForOwn(
      child.pid,
      Promise.all([child.stdout.bytes(), child.exited]),
    )
    return code === 0 ? Buffer.from(said.buffer, said.byteOffset, said.byteLength) : undefined
  } finally {
    clearTimeout(timer)
  }
}

/** Never from a folder that depends on where we are: a project may hold a program of that name. */
function findGit(path = ''): string | undefined {
  const folders = path.split(':').filter(isAbsolute)
  return Bun.which('git', { PATH: folders.join(':') }) ?? undefined
}

/**
 * Options that keep git from starting the programs by which a repository translates its files. A file
 * that is only touched then counts as changed where there are such; undefined where they have no name
 * that an option could hold.
 */
export async function withoutFilters(options: GitOptions): Promise<string[] | undefined> {
  const asked = ['config', '-z', '--name-only', '--get-regexp', '^filter\\..+\\.(clean|process)$']
  const said = (await askGit(asked, options))?.toString() ?? ''
  const keys = said.split('\0').filter((key) => key !== '')
  const filters = new Set(keys.map((key) => key.slice(0, key.lastIndexOf('.'))))
  if ([...filters].some((filter) => filter.includes('='))) return undefined
  return [...filters].flatMap((filter) =>
    ['clean=', 'process=', 'required=false'].flatMap((each) => ['-c', `${filter}.${each}`]),
  )
}
