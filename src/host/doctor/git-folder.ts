import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { counted } from '../../base/amounts.ts'
import { formatDuration } from '../../base/durations.ts'
import { readTextFile, statOf } from '../../base/files.ts'
import { printable } from '../../base/terminal/printable.ts'
import { ok, problem, warning, type Check } from './check.ts'

/** Where git keeps a repository; in a worktree that is two places. */
export interface GitFolders {
  /** Of this working tree alone. */
  readonly own: string
  /** Of all its worktrees. */
  readonly common: string
}

/** Files that exist while a git operation is in progress, its name and its command. */
const UNDER_WAY: readonly (readonly [file: string, what: string, command: string])[] = [
  ['rebase-merge', 'a rebase', 'git rebase'],
  ['rebase-apply/applying', 'applying patches', 'git am'],
  ['rebase-apply', 'a rebase', 'git rebase'],
  ['MERGE_HEAD', 'a merge', 'git merge'],
  ['CHERRY_PICK_HEAD', 'a cherry-pick', 'git cherry-pick'],
  ['REVERT_HEAD', 'a revert', 'git revert'],
]

/** Of a file that holds a path or a name. */
const LIMIT_BYTES = 64 * 1024

/** Branches that others build on. */
const SHARED = ['main', 'master', 'trunk', 'develop']

/** What commits of agents would become part of. */
export function checkBranch(head: string, { own, common }: GitFolders): Check {
  const begun = UNDER_WAY.find(([file]) => existsSync(join(own, file)))
  if (begun !== undefined) {
    const [, what, command] = begun
    const text = `${what} is in progress; commits of agents would become part of it`
    return problem('branch', text, `Run: ${command} --continue, or ${command} --abort`)
  }
  if (existsSync(join(own, 'BISECT_LOG')))
    return problem('branch', 'a bisection is in progress', 'Run: git bisect reset')
  const next = 'Run: git switch -c NAME'
  if (head === '(detached)')
    return warning('branch', 'detached HEAD: commits of agents would be on no branch', next)
  const name = printable(head)
  return SHARED.includes(head) || head === defaultBranch(common)
    ? warning('branch', `${name}: you are on ${name}; agents will commit straight to it`, next)
    : ok('branch', name)
}

/** As the place that it was cloned from says. */
function defaultBranch(common: string): string | undefined {
  const text = readIfThere(join(common, 'refs/remotes/origin/HEAD'))
  return /^ref: refs\/remotes\/origin\/(.+)$/m.exec(text ?? '')?.[1]
}

/** A lock that a git has left which was killed: all others refuse to commit. */
export function findLock({ own }: GitFolders, now: number): Check | undefined {
  for (const name of ['index.lock', 'HEAD.lock']) {
    const path = join(own, name)
    const since = statOf(path)?.mtimeMs
    if (since === undefined) continue
    const age = formatDuration(Math.max(0, now - since))
    const text = `git refuses commits while ${printable(path)} exists (${age} old)`
    return problem('commits', text, 'If no git command is running here, it is stale: remove it.')
  }
  return undefined
}

/** The other worktrees of the repository; nothing where there are none. */
export function checkWorktrees({ own, common }: GitFolders): Check[] {
  const folder = join(common, 'worktrees')
  const names = listIfThere(folder)
  if (names.length === 0) return []
  const gone = names.filter((name) => isGone(join(folder, name)))
  if (gone.length > 0) {
    const text = `${gone.map(printable).join(', ')}: the folder is gone, but its branch is still checked out there`
    return [warning('worktrees', text, 'Run: git worktree prune')]
  }
  const where = own === common ? '' : '; this is one of them'
  return [ok('worktrees', `${counted(names.length, 'worktree')} besides the main one${where}`)]
}

function isGone(record: string): boolean {
  const path = readIfThere(join(record, 'gitdir'))?.trim()
  if (path === undefined || !path.startsWith('/')) return false
  return !existsSync(path) && !existsSync(join(record, 'locked'))
}

function readIfThere(path: string): string | undefined {
  const file = readTextFile(path, LIMIT_BYTES)
  return file.kind === 'text' ? file.text : undefined
}

function listIfThere(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
