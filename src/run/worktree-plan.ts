import { readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { errorText, UserError } from '../base/errors.ts'
import { statOf } from '../base/files.ts'
import { GitStopped } from './worktree-git.ts'
import { nameInGit } from './worktree-name.ts'

/** What a worktree is wanted for. */
export interface Wanted {
  readonly cwd: string
  readonly run: string
  readonly task: string
  readonly attempt: number
}

interface PlannedSite {
  /** The project. */
  readonly top: string
  /** The commit that it begins with. */
  readonly base: string
  /** Where the agent works, from the top. */
  readonly inside: string
  readonly path: string
  readonly branch: string
}

const SUFFIX = '.worktrees'
const BRANCHES = 'forkhestra'

type AskIn = (cwd: string, ...args: string[]) => Promise<string>

/** Where a worktree will be, by a name that neither a folder nor a branch has. */
export async function planSite(
  { cwd, run, task, attempt }: Wanted,
  ask: AskIn,
): Promise<PlannedSite> {
  const demand = async (words: (why: string) => Words, ...args: string[]) => {
    try {
      return (await ask(cwd, ...args)).trim()
    } catch (error) {
      throw asRefusal(error, words)
    }
  }
  const top = await demand(noRepository, 'rev-parse', '--show-toplevel')
  const base = await demand(noCommit, 'rev-parse', '--verify', '--quiet', 'HEAD')
  const inside = relative(top, realpathSync(cwd))
  if (inside !== '') await demand(() => notIn(inside), 'cat-file', '-e', `${base}:${inside}`)
  const heads = `refs/heads/${BRANCHES}`
  const refs = await ask(top, 'for-each-ref', '--format=%(refname:lstrip=3)', heads)
  const taken = new Set(refs.split('\n'))
  const folder = join(dirname(top), `${basename(top)}${SUFFIX}`)
  const again = attempt > 1 ? `-${attempt}` : ''
  const isFree = (name: string) => !taken.has(name) && statOf(join(folder, name)) === undefined
  const name = firstFree(`${run}-${nameInGit(task)}${again}`, isFree)
  return { top, base, inside, path: join(folder, name), branch: `${BRANCHES}/${name}` }
}

/** The same place in a worktree as a working directory in its project. */
export function cwdIn(path: string, cwd: string): string {
  const top = dirname(path).slice(0, -SUFFIX.length)
  return join(path, relative(top, realpathSync(cwd)))
}

type Words = readonly [message: string, hint?: string]

/** What git says becomes a refusal in words of ours; what has ended git stays what it is. */
export function asRefusal(error: unknown, words: (why: string) => Words): unknown {
  if (error instanceof UserError || error instanceof GitStopped) return error
  const [message, hint] = words(errorText(error))
  return new UserError(`isolation=worktree${message}`, hint)
}

function noRepository(why: string): Words {
  return [' needs a git repository.', why]
}

function noCommit(): Words {
  return [' needs a commit to begin with.', 'Make one: git commit']
}

function notIn(folder: string): Words {
  return [
    `: no commit has the folder ${folder}, and a worktree would not have it.`,
    'Commit something in it, or begin in another folder.',
  ]
}

/** The folder that git keeps for a worktree, as the file says which git has put there. */
export function gitDirOf(path: string): string {
  const text = readFileSync(join(path, '.git'), 'utf8')
  return resolve(path, text.replace(/^gitdir: /, '').trim())
}

function firstFree(name: string, isFree: (name: string) => boolean): string {
  for (let count = 1; ; count++) {
    const each = count === 1 ? name : `${name}.${count}`
    if (isFree(each)) return each
  }
}
