import { afterAwake, awakeMs } from '../base/awake.ts'
import { findGit, SAFE_GIT, WITHOUT_FETCHING } from '../base/git.ts'
import { sendSignal } from './child.ts'
import { waitForOwn } from './own-children.ts'

export interface GitOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** By `awakeMs()`: what takes longer is given up. */
  readonly deadline: number
}

/** More than the names of half a million files; whoever has more will not be told apart by them. */
const MOST_BYTES = 64 * 1024 * 1024

/** What a git command that only reads says; undefined where it fails, takes too long, or git is missing. */
export async function askGit(
  args: readonly string[],
  { cwd, env, deadline }: GitOptions,
): Promise<Buffer | undefined> {
  const git = findGit(env['PATH'])
  const rest = deadline - awakeMs()
  if (git === undefined || rest <= 0) return undefined
  let child: Bun.Subprocess<'ignore', 'pipe', 'ignore'>
  try {
    // Agents work in the same repository: the index is never locked.
    child = Bun.spawn([git, ...SAFE_GIT, '--no-optional-locks', ...args], {
      cwd,
      env: { ...env, ...WITHOUT_FETCHING },
      // A group of its own: a filter is a further process.
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
    // Meanwhile sub-agents may be at work, and with them the ends of orphans are looked for.
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
  /** By key, what the user's own configuration says. */
  readonly own: ReadonlyMap<string, string>
  /** Keys that the configuration of the repository has. */
  readonly foreign: ReadonlySet<string>
}

/**
 * Options by which git uses the filters of the user, such as that of git-lfs, and none that only the
 * configuration of the repository names: looking must not start what came with the files. Undefined
 * where a name cannot be an option.
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
  // A scope, and a key with its value, by turns.
  const fields = said.split('\0')
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [key = '', ...value] = fields[at + 1]!.split('\n')
    if (fields[at] === 'local' || fields[at] === 'worktree') foreign.add(key)
    else own.set(key, value.join('\n'))
  }
  return { own, foreign }
}
