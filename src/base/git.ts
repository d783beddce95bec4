import { isAbsolute } from 'node:path'

/**
 * Options for every call of git. A repository's configuration may come from strangers, so programs that
 * it names are not started, except filters: without them git misreports changed files.
 */
export const SAFE_GIT: readonly string[] = [
  '--no-pager',
  ...[
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    'log.showSignature=false',
    // A bare repository inside another one may have been committed to it.
    'safe.bareRepository=explicit',
  ].flatMap((each) => ['-c', each]),
]

/** Variables for calls that only read: objects that a partial clone lacks are not fetched. */
export const WITHOUT_FETCHING: Readonly<Record<string, string>> = {
  GIT_NO_LAZY_FETCH: '1',
  // For older versions of git; no configuration overrides it.
  GIT_ALLOW_PROTOCOL: 'none',
}

/** Finds git by the absolute entries of PATH: a relative one could find a program of the project. */
export function findGit(path = ''): string | undefined {
  const folders = path.split(':').filter(isAbsolute)
  return Bun.which('git', { PATH: folders.join(':') }) ?? undefined
}
