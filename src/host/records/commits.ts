import { askGitSync } from '../../base/tracked.ts'
import type { Environment } from '../../base/environment.ts'
import type { GitChanges } from '../../records/events/schema.ts'

export interface Commit {
  readonly hash: string
  readonly subject: string
}

/** A hash from a record must not be an option of git. */
const HASH = /^[\da-f]{7,64}$/

/** The commits of iterations, oldest first, as far as the repository still has them. */
export function readCommits(
  cwd: string | undefined,
  all: readonly (GitChanges | undefined)[],
  env: Environment,
): (changes: GitChanges | undefined) => readonly Commit[] {
  const made = all.filter((changes) => (changes?.commits ?? 0) > 0)
  const heads = made.flatMap((changes) => changes?.head ?? []).filter((head) => HASH.test(head))
  if (cwd === undefined || heads.length === 0) return () => []
  const count = made.reduce((sum, changes) => sum + (changes?.commits ?? 0), 0)
  const format = [
    'log',
    '--ignore-missing',
    `--max-count=${2 * count + 100}`,
    '--format=%H%x00%P%x00%s',
  ]
  const said = askGitSync(cwd, [...format, ...new Set(heads), '--'], env) ?? ''
  const known = new Map(
    said.split('\n').map((line) => {
      const [hash = '', parents = '', subject = ''] = line.split('\0')
      return [hash, { hash, parent: parents.split(' ')[0]!, subject }]
    }),
  )
  return (changes) => {
    const found: Commit[] = []
    let at = known.get(changes?.head ?? '')
    while (at !== undefined && found.length < (changes?.commits ?? 0)) {
      found.unshift({ hash: at.hash.slice(0, 7), subject: at.subject })
      at = known.get(at.parent)
    }
    return found
  }
}
