import { afterAwake } from '../../base/awake.ts'
import { errorText, UserError } from '../../base/errors.ts'
import { findGit, SAFE_GIT } from '../../base/git.ts'
import { firstCause } from '../../base/first-cause.ts'
import { sendSignal } from '../process/child.ts'
import { waitForOwn } from '../../base/linux/own-children.ts'

/** Overrides the configuration of user and repository, so that no work is overlooked. */
const THOROUGH = [
  'status.showUntrackedFiles=all',
  'status.relativePaths=false',
  'core.ignoreCase=false',
  'core.ignoreStat=false',
  'core.untrackedCache=false',
  // git continues an existing reflog even if it is configured not to create any.
  'core.logAllRefUpdates=true',
].flatMap((each) => ['-c', each])

/** From SIGTERM, on which git cleans up, to SIGKILL. */
const TERM_MS = 2000

/** Work was stopped before it was done. */
export class StopError extends Error {}

/** What ends a git that hangs, for example in a filter of the repository. */
export interface GitLimits {
  readonly stop: AbortSignal
  readonly force: AbortSignal
  readonly ms: number
}

/** Returns stdout; throws stderr as an error, or `StopError`. */
export async function runGit(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { stop, force, ms }: GitLimits,
): Promise<string> {
  if (stop.aborted) throw new StopError('stopped before git was started')
  const child = start(cwd, args, env)
  const said = Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return waitForOwn(child.pid, finish())

  async function finish(): Promise<string> {
    const cause = await firstCause({ said, stop, force, late: ms })
    if (cause !== 'said') {
      sendSignal(-child.pid, 'SIGTERM')
      await firstCause({ said, force, late: TERM_MS })
      sendSignal(-child.pid, 'SIGKILL')
      await child.exited
      const words = cause === 'late' ? `git took longer than ${ms / 60_000} min` : 'git was stopped'
      throw cause === 'late'
        ? new UserError(`${words}: git ${args.join(' ')}`)
        : new StopError(words)
    }
    const [out, err, code] = await said
    if (code === 0) return out
    throw new Error(err.trim() || `git ${args[0]} failed`)
  }
}

function start(cwd: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  try {
    const git = findGit(env['PATH'])
    if (git === undefined) throw new Error('git is not on PATH')
    return Bun.spawn([git, ...SAFE_GIT, ...THOROUGH, ...args], {
      cwd,
      env: { ...env, LC_ALL: 'C' },
      // A Ctrl-C in the terminal must not interrupt git halfway.
      detached: true,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
  } catch (error) {
    throw new UserError(`isolation=worktree needs git: ${errorText(error)}`)
  }
}

/** Aborts `ms` after another signal; call `release` to stop listening. */
export function abortAfter(
  stop: AbortSignal,
  ms: number,
): { stop: AbortSignal; release: () => void } {
  const late = new AbortController()
  let cancel: (() => void) | undefined
  const begin = () => {
    cancel = afterAwake(ms, () => late.abort())
  }
  if (stop.aborted) begin()
  else stop.addEventListener('abort', begin)
  const release = () => {
    cancel?.()
    stop.removeEventListener('abort', begin)
  }
  return { stop: late.signal, release }
}
