import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Files that exist while a git operation is in progress, its name and its command. */
const IN_PROGRESS: readonly (readonly [file: string, what: string, command: string])[] = [
  ['rebase-merge', 'a rebase', 'git rebase'],
  ['rebase-apply/applying', 'applying patches', 'git am'],
  ['rebase-apply', 'a rebase', 'git rebase'],
  ['MERGE_HEAD', 'a merge', 'git merge'],
  ['CHERRY_PICK_HEAD', 'a cherry-pick', 'git cherry-pick'],
  ['REVERT_HEAD', 'a revert', 'git revert'],
  ['sequencer', 'a cherry-pick', 'git cherry-pick'],
]

interface GitOperation {
  readonly what: string
  /** What to type to finish it. */
  readonly next: string
}

/** The unfinished operation in a working tree; `own` is its git folder. */
export function findOperation(own: string): GitOperation | undefined {
  const begun = IN_PROGRESS.find(([file]) => existsSync(join(own, file)))
  if (begun !== undefined) {
    const [, what, command] = begun
    return { what, next: `Run: ${command} --continue, or ${command} --abort` }
  }
  return existsSync(join(own, 'BISECT_LOG'))
    ? { what: 'a bisect', next: 'Run: git bisect reset' }
    : undefined
}
