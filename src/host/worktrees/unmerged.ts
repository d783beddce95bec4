import { join } from 'node:path'
import { readOrEmpty } from '../../base/repository.ts'
import { readEventsOf } from '../../records/journal/read-run.ts'
import type { Git } from '../../run/merge/integrate.ts'
import type { Candidate } from './candidates.ts'
import { commitsOf } from '../../run/worktrees/worktree-state.ts'
import type { Repository, Tree } from './repository.ts'

/**
 * How many commits of a worktree or branch are neither on its target branch nor, according to the record,
 * copied there. Branches of runs do not count, except those on the way to the target.
 */
export async function countUnmerged(
  { kind, run, tree, branch, recorded }: Candidate,
  { branches }: Repository,
  record: string | undefined,
  git: Git,
): Promise<number> {
  const lost = kind === 'task' && tree?.isThere === true ? await abandonedIn(tree, branch, git) : []
  const tips = [branch === undefined ? undefined : branches.get(branch), tree?.head, ...lost]
  const own = [...new Set(tips.filter((tip) => tip !== undefined))]
  if (own.length === 0) return 0
  const into = recorded?.into
  const between = kind === 'branch' ? [into, `${into}.merged`, `forkhestra/${run}/merged`] : []
  const others = between
    .filter((name) => name !== undefined && name !== branch && branches.has(name))
    .map((name) => `refs/heads/${name}`)
  const merged = ['--not', '--exclude=forkhestra/*', '--branches', '--tags', ...others]
  const left = lines(await git('rev-list', ...own, ...merged))
  if (left.length === 0 || record === undefined) return left.length
  const copies = copiesIn(record)
  const copied = new Map(left.map((commit) => [commit, follow(commit, copies)]))
  const all = [...copied.values()].flat()
  if (all.length === 0) return left.length
  try {
    const elsewhere = new Set(lines(await git('rev-list', ...all, ...merged)))
    return left.filter((commit) => copied.get(commit)!.every((copy) => elsewhere.has(copy))).length
  } catch {
    // Some copies no longer exist.
    return left.length
  }
}

/** Commits of a sub-agent that are on no branch, for example after a reset. */
async function abandonedIn(
  { path, gitDir }: Tree,
  branch = '',
  git: Git,
): Promise<readonly string[]> {
  const [first = ''] = readOrEmpty(join(gitDir, 'logs/HEAD')).split('\n')
  const base = first.split(' ')[1] ?? ''
  const inTree: Git = (...args) => git(`--git-dir=${gitDir}`, `--work-tree=${path}`, ...args)
  const { dangling, isUncertain } = await commitsOf({ path, branch, base, gitDir }, inTree)
  if (isUncertain) throw new Error(`the reflog of ${path} is incomplete`)
  return dangling
}

/** The copies of commits that merges created, according to the record. */
function copiesIn(record: string): Map<string, string> {
  const events = [...readEventsOf(record, ['merge_ended', 'merge_moving'])]
  return new Map(
    events.flatMap((event) => [
      ...(event.copies ?? []),
      ...('merges' in event ? event.merges.flatMap(({ copies }) => copies) : []),
    ]),
  )
}

/** The copy of a commit, its copy and so on. */
function follow(commit: string, copies: ReadonlyMap<string, string>): string[] {
  const found: string[] = []
  let at = copies.get(commit)
  while (at !== undefined && !found.includes(at)) {
    found.push(at)
    at = copies.get(at)
  }
  return found
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line !== '')
}
