import { relative } from 'node:path'
import { runGit } from './store/git.ts'
import type { Places } from './store/places.ts'

/** A commit that changed the file of a task. */
export interface Commit {
  readonly commit: string
  readonly at: string
  readonly author: string
  readonly subject: string
}

/** The newest first; empty where git knows nothing of the file. */
export function readHistory({ root }: Places, path: string): Commit[] {
  const format = '--format=%h%x00%aI%x00%an%x00%s'
  const log = runGit(root, ['log', '--follow', '-n', '50', format, '--', relative(root, path)])
  return (log ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [commit = '', at = '', author = '', subject = ''] = line.split('\0')
      return { commit, at, author, subject }
    })
}
