import { isAbsolute } from 'node:path'

/** Nothing that the configuration of a repository names is started. */
const QUIET = [
  ...['core.fsmonitor=false', 'core.quotePath=false', 'log.showSignature=false'].flatMap((each) => [
    '-c',
    each,
  ]),
  '--no-pager',
]

/** What a git command that only reads says; undefined where it fails or there is no git. */
export function runGit(root: string, args: readonly string[]): string | undefined {
  const git = findGit(process.env['PATH'])
  if (git === undefined) return undefined
  const [verb = '', ...rest] = args
  const safe = verb === 'log' ? ['--no-ext-diff', '--no-textconv'] : []
  try {
    const { exitCode, stdout } = Bun.spawnSync([git, ...QUIET, verb, ...safe, ...rest], {
      cwd: root,
      stdin: 'ignore',
      stderr: 'ignore',
      timeout: 10_000,
    })
    return exitCode === 0 ? stdout.toString() : undefined
  } catch {
    return undefined
  }
}

/** Never from a folder that depends on where we are: a project may hold a program of that name. */
function findGit(path = ''): string | undefined {
  const folders = path.split(':').filter(isAbsolute)
  return Bun.which('git', { PATH: folders.join(':') }) ?? undefined
}
