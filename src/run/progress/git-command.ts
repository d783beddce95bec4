import { awakeMs } from '../../base/awake.ts'
import { WITHOUT_FETCHING } from '../../base/git.ts'
import { runGit } from '../process/git.ts'

export interface GitOptions {
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  /** By `awakeMs()`; a command that takes longer is killed. */
  readonly deadline: number
}

/** The output of a read-only git command; undefined if it fails, takes too long, or git is missing. */
export async function askGit(
  args: readonly string[],
  { cwd, env, deadline }: GitOptions,
): Promise<Buffer | undefined> {
  const ms = deadline - awakeMs()
  if (ms <= 0) return undefined
  try {
    // Agents work in the same repository, so the index must not be locked.
    const readOnly = ['--no-optional-locks', ...args]
    return await runGit(cwd, readOnly, { ...env, ...WITHOUT_FETCHING }, { ms, termMs: 0 })
  } catch {
    return undefined
  }
}

/**
 * Options that keep the user's own filters, such as that of git-lfs, and disable those of the
 * repository: taking a snapshot must not run code from the repository. Undefined if a name cannot be
 * written as an option.
 */
export async function withOwnFilters(options: GitOptions): Promise<string[] | undefined> {
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
  if ([...foreign].some((key) => key.includes('='))) return undefined
  return [...foreign].flatMap((key) => {
    const value = own.get(key) ?? (key.endsWith('.required') ? 'false' : '')
    return ['-c', `${key}=${value}`]
  })
}
