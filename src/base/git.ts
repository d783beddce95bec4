import { isAbsolute } from 'node:path'
import type { Environment } from './environment.ts'

/**
 * Options for every call of git. A repository's configuration may come from strangers, so programs that
 * it names are not started, except filters: without them git misreports changed files.
 */
export const SAFE_GIT: readonly string[] = [
  '--no-pager',
  // An agent could make commits look merged that are not.
  '--no-replace-objects',
  ...[
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    'log.showSignature=false',
    // A bare repository inside another one may have been committed to it.
    'safe.bareRepository=explicit',
  ].flatMap((each) => ['-c', each]),
]

/** Variables for calls that only read: missing objects of a partial clone are not fetched. */
export const WITHOUT_FETCHING: Readonly<Record<string, string>> = {
  GIT_NO_LAZY_FETCH: '1',
  // For older versions of git; no configuration overrides it.
  GIT_ALLOW_PROTOCOL: 'none',
}

/** The environment without the variables that point git at a repository, whatever folder it is called in. */
export function withoutGitPlaces<Env extends Environment>(env: Env): Env {
  const rest = Object.entries(env).filter(([name]) => !PLACES.has(name))
  return Object.fromEntries(rest) as Env
}

/** Git sets some of these for its hooks. */
const PLACES: ReadonlySet<string> = new Set([
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_COMMON_DIR',
  'GIT_INDEX_FILE',
  'GIT_PREFIX',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_QUARANTINE_PATH',
  'GIT_SHALLOW_FILE',
  'GIT_GRAFT_FILE',
  'GIT_NAMESPACE',
])

/** Asks git for the checked-out branch; `--short` would change its name if a tag has the same one. */
export const CHECKED_OUT: readonly string[] = ['symbolic-ref', '--quiet', 'HEAD']

/** The branch in the answer to `CHECKED_OUT`. */
export function branchIn(answer: string): string {
  return answer.trim().replace(/^refs\/heads\//, '')
}

/** Finds git by the absolute entries of PATH: a relative one could find a program of the project. */
export function findGit(path = ''): string | undefined {
  const folders = path.split(':').filter(isAbsolute)
  return Bun.which('git', { PATH: folders.join(':') }) ?? undefined
}
