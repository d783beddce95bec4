import { readFileSync, realpathSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { errorText, UserError } from '../../base/errors.ts'
import { listNames, statOf } from '../../base/files.ts'
import { readOrEmpty } from '../../base/repository.ts'
import { StopError } from '../process/git.ts'

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

/** Picks a name that neither a folder nor a branch has. */
export async function planWorktree(
  { cwd, run, task, attempt }: WorktreeRequest,
  ask: (cwd: string, ...args: string[]) => Promise<string>,
): Promise<PlannedWorktree> {
  const demand = async (message: string, hint: string | undefined, ...args: string[]) => {
    try {
      return (await ask(cwd, ...args)).trim()
    } catch (error) {
      throw toUserError(error, message, hint ?? errorText(error))
    }
  }
  const top = await demand(' needs a git repository.', undefined, 'rev-parse', '--show-toplevel')
  const head = ['rev-parse', '--verify', '--quiet', 'HEAD']
  const base = await demand(
    ' needs at least one commit.',
    'Create one: git add -A && git commit -m "Start"',
    ...head,
  )
  const inside = relative(top, realpathSync(cwd))
  if (inside !== '') {
    const message = `: the folder ${inside} is not in the current commit, so a worktree would not have it.`
    const hint = 'Commit a file in it, or start in another folder.'
    await demand(message, hint, 'cat-file', '-e', `${base}:${inside}`)
  }
  const heads = `refs/heads/${BRANCHES}`
  const refs = await ask(top, 'for-each-ref', '--format=%(refname:lstrip=3)', heads)
  const taken = new Set(refs.split('\n'))
  const folder = join(dirname(top), `${basename(top)}${SUFFIX}`)
  const isTaken = (name: string) => taken.has(name) || statOf(join(folder, name)) !== undefined
  const wanted = `${run}-${nameInGit(task)}${attempt > 1 ? `-${attempt}` : ''}`
  let name = wanted
  for (let count = 2; isTaken(name); count++) name = `${wanted}.${count}`
  return { top, base, inside, path: join(folder, name), branch: `${BRANCHES}/${name}` }
}

/** The folder in a worktree that corresponds to `cwd` in the project. */
export function cwdIn(path: string, cwd: string): string {
  const top = dirname(path).slice(0, -SUFFIX.length)
  return join(path, relative(top, realpathSync(cwd)))
}

/** Turns a git error into a `UserError`; leaves a `StopError` unchanged. */
export function toUserError(error: unknown, message: string, hint?: string): unknown {
  if (error instanceof UserError || error instanceof StopError) return error
  return new UserError(`isolation=worktree${message}`, hint)
}

/** As the `.git` file of the worktree says. */
export function gitDirOf(path: string): string {
  const text = readFileSync(join(path, '.git'), 'utf8')
  return resolve(path, text.replace(/^gitdir: /, '').trim())
}

/** The git folder of each linked worktree, by its path; `common` is the git folder that they share. */
export function adminFolders(common: string): Map<string, string> {
  const folder = join(common, 'worktrees')
  return new Map(
    listNames(folder).map((name) => {
      const gitDir = join(folder, name)
      return [dirname(resolve(gitDir, readOrEmpty(join(gitDir, 'gitdir')).trim())), gitDir]
    }),
  )
}

/** Where a worktree is, even after `git worktree move`. */
export function currentPath(path: string, gitDir: string): string {
  if (statOf(path) !== undefined) return path
  try {
    const moved = dirname(resolve(gitDir, readFileSync(join(gitDir, 'gitdir'), 'utf8').trim()))
    return gitDirOf(moved) === gitDir ? moved : path
  } catch {
    // It was deleted, or moved without git.
    return path
  }
}

/** File names are limited to 255 bytes, and git and forkhestra add a suffix. */
const LONGEST_BYTES = 80

/** Makes a task name valid as part of a branch name and a path. */
function nameInGit(task: string): string {
  const name = task.replaceAll(/\.{2,}/g, '.').replace(/\.lock$/i, '-lock')
  let length = name.length
  while (Buffer.byteLength(name.slice(0, length)) > LONGEST_BYTES) length -= 1
  // Never cuts a surrogate pair in half.
  const short = name.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')
  return short.replace(/\.+$/, '') || 'task'
}

type Git = (cwd: string, ...args: string[]) => Promise<string>

/**
 * Creates a worktree with a new branch. `worktree add -b` cannot be repeated if it fails halfway, because then the
 * branch exists.
 */
export async function addWorktree(
  git: Git,
  top: string,
  { path, branch, base }: { path: string; branch: string; base: string },
): Promise<void> {
  await git(top, 'update-ref', `refs/heads/${branch}`, base, '')
  await git(top, 'worktree', 'add', '--quiet', path, branch)
}
