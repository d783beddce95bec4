import type { Worktree } from '../events/schema.ts'
import type { Commits } from './worktree-state.ts'

type Where = Pick<Worktree, 'path' | 'branch'>

/** What there is in a worktree whose attempt is over. */
interface Found extends Commits {
  /** Whether there is anything in its folder that no commit has. */
  readonly isDirty: boolean
  /** Whether its folder is there. */
  readonly isThere: boolean
}

/** So many of a commit's letters tell it from others. */
const SHORT = 12
/** More are not named. */
const MOST = 5

/** Where the work is, and what of it a merge of the branch would leave behind; nothing where there is none. */
export function wordsFor({ path, branch }: Where, found: Found): string {
  const { isOnBranch, loose, elsewhere, isDirty, isThere } = found
  const rest = [
    ...(loose.length === 0 ? [] : [`commits that no branch has (${looseWords(loose)})`]),
    ...(isDirty ? ['what is not committed'] : []),
  ].join(', and ')
  const place = isThere ? `, in ${path}` : ''
  const lines = [
    ...(isOnBranch ? [`The work is on the branch ${branch}${place}`] : []),
    ...(elsewhere === undefined ? [] : [`The commits are on the branch ${elsewhere}`]),
    ...(rest === '' ? [] : [`Not on the branch ${branch}: ${rest}${place}`]),
  ]
  return lines.map((line) => `[forkhestra] ${line}`).join('\n')
}

function looseWords(commits: readonly string[]): string {
  const names = commits.slice(0, MOST).map((commit) => commit.slice(0, SHORT))
  return [...names, ...(commits.length > MOST ? ['…'] : [])].join(', ')
}

/** The same where nobody has looked what there is. */
export function unjudgedWords({ path, branch }: Where): string {
  return `[forkhestra] The work is in ${path}, of the branch ${branch}; git status says there what is not committed`
}
