import { afterAwake, awakeMs } from '../../base/awake.ts'
import { findGit, SAFE_GIT, WITHOUT_FETCHING } from '../../base/git.ts'
import { sendSignal } from '../process/child.ts'
import { waitForOwn } from '../../base/linux/own-children.ts'

export interface GitOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** By `awakeMs()`; a command that takes longer is killed. */
  readonly deadline: number
}

/** Enough for the names of half a million files. */
const MOST_BYTES = 64 * 1024 * 1024

/** The output of a read-only git command; undefined if it fails, takes too long, or git is missing. */
export async function askGit(
  args: readonly string[],
  { cwd, env, deadline }: GitOptions,
): Promise<Buffer | undefined> {
  const git = findGit(env['PATH'])
  const rest = deadline - awakeMs()
  if (git === undefined || rest <= 0) return undefined
  let child: Bun.Subprocess<'ignore', 'pipe', 'ignore'>
  try {
    // Agents work in the same repository, so the index must not be locked.
    child = Bun.spawn([git, ...SAFE_GIT, '--no-optional-locks', ...args], {
      cwd,
      env: { ...env, ...WITHOUT_FETCHING },
      // Its own process group, because filters are further processes.
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
  const cancel = afterAwake(rest, () => sendSignal(-child.pid, 'SIGKILL'))
  try {
    // Keeps the reaping of orphans away from this child.
    const [said, code] = await waitForOwn(
      child.pid,
      Promise.all([child.stdout.bytes(), child.exited]),
    )
    return code === 0 ? Buffer.from(said.buffer, said.byteOffset, said.byteLength) : undefined
  } finally {
    cancel()
  }
}

interface Filters {
  /** Values of the user's own configuration by key. */
  readonly own: ReadonlyMap<string, string>
  /** Keys in the configuration of the repository. */
  readonly foreign: ReadonlySet<string>
}

/**
 * Options that keep the user's own filters, such as that of git-lfs, and disable those of the
 * repository: taking a snapshot must not run code from the repository. Undefined if a name cannot be
 * written as an option.
 */
export async function withOwnFilters(options: GitOptions): Promise<string[] | undefined> {
  const { own, foreign } = await readFilters(options)
  if ([...foreign].some((key) => key.includes('='))) return undefined
  return [...foreign].flatMap((key) => {
    const value = own.get(key) ?? (key.endsWith('.required') ? 'false' : '')
    return ['-c', `${key}=${value}`]
  })
}

async function readFilters(options: GitOptions): Promise<Filters> {
  const asked = ['config', '-z', '--show-scope', '--get-regexp', String.raw`^filter\.`]
  const said = (await askGit(asked, options))?.toString() ?? ''
  const [own, foreign] = [new Map<string, string>(), new Set<string>()]
  // Scopes alternate with keys and their values.
  const fields = said.split('\0')
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [key = '', ...value] = fields[at + 1]!.split('\n')
    if (fields[at] === 'local' || fields[at] === 'worktree') foreign.add(key)
    else own.set(key, value.join('\n'))
  }
  return { own, foreign }
}
