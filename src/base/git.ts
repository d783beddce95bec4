import { isAbsolute } from 'node:path'

/**
 * Options for every call of git: its configuration may have come with the files, and nothing that it
 * names is started. Filters are another matter, because without them git misjudges files.
 */
export const SAFE_GIT: readonly string[] = [
  '--no-pager',
  ...[
    'core.fsmonitor=false',
    'core.hooksPath=/dev/null',
    'log.showSignature=false',
    // What looks like a repository inside of another one came with it.
    'safe.bareRepository=explicit',
  ].flatMap((each) => ['-c', each]),
]

/** Variables for calls that only read: what a partial clone lacks is not fetched, by whatever program. */
export const WITHOUT_FETCHING: Readonly<Record<string, string>> = {
  GIT_NO_LAZY_FETCH: '1',
  // Older versions know only this one, over which no configuration has a say.
  GIT_ALLOW_PROTOCOL: 'none',
}

/** Where git is. Relative entries of PATH do not count: the project could hold a program of that name. */
export function findGit(path = ''): string | undefined {
  const folders = path.split(':').filter(isAbsolute)
  return Bun.which('git', { PATH: folders.join(':') }) ?? undefined
}
