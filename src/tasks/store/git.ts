/** What a git command that only reads says; undefined where it fails or there is no git. */
export function runGit(root: string, args: readonly string[]): string | undefined {
  // Nothing that a configuration names is started.
  const quiet = ['-c', 'core.fsmonitor=false', '-c', 'core.quotePath=false', '--no-pager']
  const [verb = '', ...rest] = args
  const safe = verb === 'log' ? ['--no-ext-diff', '--no-textconv'] : []
  try {
    const { exitCode, stdout } = Bun.spawnSync(['git', ...quiet, verb, ...safe, ...rest], {
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
