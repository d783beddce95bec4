import { readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { errorText, UserError } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { StopError } from './worktree-git.ts'

export interface WorktreeRequest {
  readonly cwd: string
  readonly run: string
  readonly task: string
  readonly attempt: number
}

interface PlannedWorktree {
  /** The root of the project's repository. */
  readonly top: string
  /** The commit it starts from. */
  readonly base: string
  /** The agent's working directory, relative to `top`. */
  readonly inside: string
  readonly path: string
  readonly branch: string
}

const SUFFIX = '.worktrees'
const BRANCHES = 'forkhestra'

type AskIn = (cwd: string, ...args: string[]) => Promise<string>

/** Picks a name that neither a folder nor a branch has. */
export async function planWorktree(
  { cwd, run, task, attempt }: WorktreeRequest,
  ask: AskIn,
): Promise<PlannedWorktree> {
  const demand = async (words: (why: string) => Refusal, ...args: string[]) => {
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

/** The folder in a worktree that corresponds to `cwd` in the project. */
export function cwdIn(path: string, cwd: string): string {
  const top = dirname(path).slice(0, -SUFFIX.length)
  return join(path, relative(top, realpathSync(cwd)))
}

type Refusal = readonly [message: string, hint?: string]

/** Turns an error of git into a `UserError`; a stop stays what it is. */
export function asRefusal(error: unknown, words: (why: string) => Refusal): unknown {
  if (error instanceof UserError || error instanceof StopError) return error
  const [message, hint] = words(errorText(error))
  return new UserError(`isolation=worktree${message}`, hint)
}

function noRepository(why: string): Refusal {
  return [' needs a git repository.', why]
}

function noCommit(): Refusal {
  return [' needs at least one commit.', 'Create one: git commit']
}

function notIn(folder: string): Refusal {
  return [
    `: the folder ${folder} is not in the current commit, so a worktree would not have it.`,
    'Commit a file in it, or start in another folder.',
  ]
}

/** Read from the `.git` file of the worktree. */
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

/** File names are limited to 255 bytes, and git and forkhestra add a suffix. */
const LONGEST_BYTES = 80

/** Makes a task name valid as part of a branch name and a path. */
function nameInGit(task: string): string {
  const name = task.replaceAll(/\.{2,}/g, '.').replace(/\.lock$/i, '-lock')
  return shorten(name).replace(/\.+$/, '') || 'task'
}

function shorten(name: string): string {
  let length = name.length
  while (Buffer.byteLength(name.slice(0, length)) > LONGEST_BYTES) length -= 1
  // Never half of a surrogate pair.
  return name.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')
}
