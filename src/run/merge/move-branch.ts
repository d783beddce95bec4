import { readFileSync, readlinkSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { errorText, UserError, succeeds } from '../../base/errors.ts'
import { lstatOf } from '../../base/files.ts'
import { branchIn, CHECKED_OUT } from '../../base/git.ts'
import { commonGitFolder, gitFolder, readOrEmpty } from '../../base/repository.ts'
import { adminFolders } from '../worktrees/worktree-plan.ts'
import { StopError } from '../process/git.ts'
import { isAncestor, type Git } from './integrate.ts'

/** Runs git in any folder. */
export type GitIn = (cwd: string, ...args: string[]) => Promise<string>

export interface Move {
  /** Name of the branch, without `refs/heads/`. */
  readonly branch: string
  readonly from: string
  readonly to: string
}

export type Moved =
  | { readonly kind: 'moved' }
  /** Someone else has moved or deleted the branch: start again from its current commit. */
  | { readonly kind: 'raced' }
  /** The branch is checked out, and git would overwrite edits there. */
  | { readonly kind: 'refused'; readonly why: string; readonly folder: string }

/** Moves a branch forward, together with the files where it is checked out. */
export async function moveBranch(top: string, move: Move, gitIn: GitIn): Promise<Moved> {
  const { branch, from, to } = move
  const unusable = (await whyUnusable(top, gitIn)) ?? whyBusy(top, branch)
  if (unusable !== undefined) return { kind: 'refused', why: unusable, folder: top }
  const folder = await checkedOutIn(top, branch, gitIn)
  try {
    if (folder === undefined) await gitIn(top, 'update-ref', `refs/heads/${branch}`, to, from)
    else if ((await tipOf(top, branch, gitIn)) === from)
      await gitIn(folder, '-c', `branch.${branch}.mergeOptions=`, ...FAST_FORWARD, to)
  } catch (error) {
    if (error instanceof StopError || error instanceof UserError) throw error
    const isStill = (await tipOf(top, branch, gitIn)) === from
    if (isStill && folder !== undefined) return { kind: 'refused', why: errorText(error), folder }
    if (isStill) throw error
  }
  return (await tipOf(top, branch, gitIn)) === to ? { kind: 'moved' } : { kind: 'raced' }
}

/** Overrides the user's configuration; by default, git overwrites ignored files. */
const FAST_FORWARD: readonly string[] = [
  'merge',
  '--quiet',
  '--ff-only',
  '--no-autostash',
  '--no-overwrite-ignore',
  '--no-verify-signatures',
]

/** Git would move the branch without its files, or write the files to another folder. */
async function whyUnusable(top: string, gitIn: GitIn): Promise<string | undefined> {
  const seen = await gitIn(top, 'rev-parse', '--show-toplevel').catch(() => '')
  if (seen.replace(/\n$/, '') === top) return undefined
  return `git no longer treats ${top} as a working tree; see: git config --get-regexp 'core.(bare|worktree)'`
}

/** A rebase fails at the end if its branch has moved. */
function whyBusy(top: string, branch: string): string | undefined {
  const own = gitFolder(top)
  if (own === undefined) return undefined
  const common = commonGitFolder(own)
  const isRebased = [common, ...adminFolders(common).values()].some((gitDir) =>
    ['rebase-merge', 'rebase-apply'].some(
      (name) => readOrEmpty(join(gitDir, name, 'head-name')).trim() === `refs/heads/${branch}`,
    ),
  )
  return isRebased ? `branch ${branch} is being rebased` : undefined
}

/**
 * Updates the working tree if its branch was moved forward without it: files and index are still those of
 * `from`. Throws if edited or ignored files would be overwritten.
 */
export async function followFiles(
  top: string,
  { branch, from, to }: Move,
  gitIn: GitIn,
): Promise<void> {
  const folder = await checkedOutIn(top, branch, gitIn)
  if (folder === undefined || (await whyUnusable(top, gitIn)) !== undefined) return
  const git: Git = (...args) => gitIn(folder, ...args)
  const isIndexOf = (commit: string) => succeeds(git('diff-index', '--cached', '--quiet', commit))
  // After a reset by the user, the files stay as they are.
  if (!(await isAncestor(git, from, to)) || (await isIndexOf(to)) || !(await isIndexOf(from)))
    return
  // Git would overwrite ignored files.
  const added = ['diff-tree', '-r', '-z', '--no-renames', '--name-only', '--diff-filter=A']
  const names = (await git(...added, from, to)).split('\0').filter((name) => name !== '')
  const inTheWay = names.find((name) => lstatOf(join(folder, name)) !== undefined)
  if (inTheWay !== undefined) throw new Error(`an untracked file would be overwritten: ${inTheWay}`)
  await git('read-tree', '-m', '-u', from, to)
}

/** The commit of a branch; undefined if it does not exist. */
export async function tipOf(
  top: string,
  branch: string,
  gitIn: GitIn,
): Promise<string | undefined> {
  const ref = `refs/heads/${branch}`
  const lines = await gitIn(top, 'for-each-ref', '--format=%(objectname) %(refname)', ref)
  return lines
    .split('\n')
    .find((line) => line.endsWith(` ${ref}`))
    ?.split(' ')[0]
}

/** The worktree in which a branch is checked out. */
export async function checkedOutIn(
  top: string,
  branch: string,
  gitIn: GitIn,
): Promise<string | undefined> {
  // Git does not list the working tree if its git folder is elsewhere, like that of a submodule.
  if (branchIn(await gitIn(top, ...CHECKED_OUT).catch(() => '')) === branch) return top
  const blocks = (await gitIn(top, 'worktree', 'list', '--porcelain', '-z')).split('\0\0')
  const block = blocks.find((each) => each.split('\0').includes(`branch refs/heads/${branch}`))
  const folder = block?.split('\0')[0]?.replace(/^worktree /, '')
  return folder !== undefined && lstatOf(folder)?.isDirectory() === true ? folder : undefined
}

/**
 * Completes a move that a killed process had begun. An interrupted fast-forward leaves the old HEAD, some new
 * files, one of them half written, and a locked index. Files that match `checkout`, where the new commit is
 * checked out, are ours; all others are the user's edits and stay.
 */
export async function completeMove(
  top: string,
  move: Move,
  checkout: string,
  gitIn: GitIn,
): Promise<Moved> {
  const { branch, from, to } = move
  const tip = await tipOf(top, branch, gitIn)
  const folder = await checkedOutIn(top, branch, gitIn)
  const isUsable = (await whyUnusable(top, gitIn)) === undefined
  if (tip !== from || folder === undefined || !isUsable)
    return tip === to ? { kind: 'moved' } : moveBranch(top, move, gitIn)
  const git: Git = (...args) => gitIn(folder, ...args)
  rmSync(resolve(folder, (await git('rev-parse', '--git-path', 'index.lock')).trim()), {
    force: true,
  })
  const changes = await changesBetween(git, from, to)
  const written = changes.filter(({ path }) => {
    const found = compare(join(folder, path), join(checkout, path))
    if (found === 'begun') rmSync(join(folder, path))
    return found === 'same'
  })
  await addToIndex(git, written)
  return moveBranch(top, move, gitIn)
}

interface Change {
  readonly path: string
  readonly mode: string
  readonly blob: string
}

/** Paths that differ between two commits, as in the second. */
async function changesBetween(git: Git, from: string, to: string): Promise<Change[]> {
  const fields = (await git('diff-tree', '-r', '-z', '--no-renames', from, to)).split('\0')
  const changes: Change[] = []
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, mode = '', , blob = ''] = fields[at]!.split(' ')
    changes.push({ path: fields[at + 1]!, mode, blob })
  }
  return changes
}

/** Whether a file is as expected, or a prefix of that. */
function compare(path: string, expected: string): 'same' | 'begun' | 'other' {
  const [found, wanted] = [contentOf(path), contentOf(expected)]
  if (found === undefined || wanted === undefined) return found === wanted ? 'same' : 'other'
  if (found.kind !== wanted.kind) return 'other'
  if (found.bytes.equals(wanted.bytes)) return 'same'
  return found.bytes.equals(wanted.bytes.subarray(0, found.bytes.length)) ? 'begun' : 'other'
}

function contentOf(path: string): { readonly kind: string; readonly bytes: Buffer } | undefined {
  const stat = lstatOf(path)
  if (stat === undefined) return undefined
  if (stat.isSymbolicLink()) return { kind: 'link', bytes: Buffer.from(readlinkSync(path)) }
  return stat.isFile()
    ? { kind: 'file', bytes: readFileSync(path) }
    : { kind: 'other', bytes: Buffer.from(path) }
}

const GONE = /^0+$/
/** A longer command line would not be accepted. */
const MOST_PATHS = 200

/** An index entry that already matches the new commit does not stop the fast-forward. */
async function addToIndex(git: Git, changes: readonly Change[]): Promise<void> {
  for (let at = 0; at < changes.length; at += MOST_PATHS) {
    const some = changes.slice(at, at + MOST_PATHS)
    const gone = some.filter(({ blob }) => GONE.test(blob)).map(({ path }) => path)
    const entries = some
      .filter(({ blob }) => !GONE.test(blob))
      .flatMap(({ mode, blob, path }) => ['--cacheinfo', `${mode},${blob},${path}`])
    if (gone.length > 0) await git('update-index', '--force-remove', '--', ...gone)
    if (entries.length > 0) await git('update-index', '--add', ...entries)
  }
}
