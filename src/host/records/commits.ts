import { askGitSync } from '../../base/tracked.ts'
import type { Environment } from '../../base/environment.ts'
import type { RunBrief } from '../../records/journal/runs.ts'
import { maskOf } from '../queue/masked.ts'
import { isOwnOrUnsigned } from './foreign.ts'
import type { GitChanges } from '../../records/events/schema.ts'

export interface Commit {
  readonly hash: string
  readonly subject: string
}

/** A hash from a record must not be an option of git. */
const HASH = /^[\da-f]{7,64}$/

/**
 * The commits of iterations, oldest first, as far as the repository still has them. Only repositories of runs
 * that were made here are read.
 */
export async function readCommits(
  run: Pick<RunBrief, 'id' | 'folder' | 'foreign' | 'state'>,
  all: readonly (GitChanges | undefined)[],
  env: Environment,
): Promise<(changes: GitChanges | undefined) => readonly Commit[]> {
  const { cwd } = run.state
  const made = all.filter((changes) => (changes?.commits ?? 0) > 0)
  const heads = made.flatMap((changes) => changes?.head ?? []).filter((head) => HASH.test(head))
  if (cwd === undefined || !isOwnOrUnsigned(run) || heads.length === 0) return () => []
  const mask = await maskOf({ run: run.id, record: run.folder }, env)
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
      found.unshift({ hash: at.hash.slice(0, 7), subject: mask.text(at.subject) })
      at = known.get(at.parent)
    }
    return found
  }
}
