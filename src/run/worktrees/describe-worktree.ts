import type { Worktree } from '../../records/events/schema.ts'
import type { Commits } from './worktree-state.ts'

type Where = Pick<Worktree, 'path' | 'branch'>

interface Found extends Commits {
  /** Whether the folder has anything that is not committed. */
  readonly isDirty: boolean
  /** Whether the folder exists. */
  readonly isThere: boolean
}

/** Length of a shortened commit id. */
const SHORT = 12
/** How many commits are named. */
const MOST = 5

/** Where the work is, and what merging the branch would miss; empty if there is none. */
export function describeKept({ path, branch }: Where, found: Found): string {
  const { isOnBranch, dangling, isUncertain, elsewhere, isDirty, isThere } = found
  const rest = [
    ...(dangling.length === 0 ? [] : [`commits on no branch (${describeDangling(dangling)})`]),
    ...(isUncertain ? ['possibly commits on no branch (the reflog is incomplete)'] : []),
    ...(isDirty ? ['uncommitted changes'] : []),
  ].join(' and ')
  const place = isThere ? `, in ${path}` : ''
  const lines = [
    ...(isOnBranch ? [`The work is on branch ${branch}${place}`] : []),
    ...(elsewhere === undefined ? [] : [`The commits are on branch ${elsewhere}`]),
    ...(rest === '' ? [] : [`Not on branch ${branch}: ${rest}${place}`]),
  ]
  return lines.map((line) => `[forkhestra] ${line}`).join('\n')
}

function describeDangling(commits: readonly string[]): string {
  const names = commits.slice(0, MOST).map((commit) => commit.slice(0, SHORT))
  return [...names, ...(commits.length > MOST ? ['…'] : [])].join(', ')
}

/** For a worktree that could not be inspected. */
export function describeUnchecked({ path, branch }: Where): string {
  return `[forkhestra] The work is in ${path} (branch ${branch}); run git status there to see uncommitted changes`
}
