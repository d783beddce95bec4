import { afterAwake } from '../base/awake.ts'
import { errorText, UserError } from '../base/errors.ts'
import { findGit, SAFE_GIT } from '../base/git.ts'
import { firstOf } from '../base/first-of.ts'
import { sendSignal } from './child.ts'
import { waitForOwn } from './own-children.ts'

/** Nothing that is in the repository is overlooked. */
const THOROUGH = ['status.showUntrackedFiles=all', 'status.relativePaths=false'].flatMap((each) => [
  '-c',
  each,
])

/** From SIGTERM, at which git removes what is half done, to SIGKILL. */
const TERM_MS = 2000

/** It was ended before its time. */
export class GitStopped extends Error {}

/** What ends a git that hangs, in a filter of the repository for instance. */
export interface Patience {
  readonly stop: AbortSignal
  readonly force: AbortSignal
  readonly ms: number
}

/** Runs git and returns what it prints; fails with what it says, or with `GitStopped`. */
export async function runGit(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { stop, force, ms }: Patience,
): Promise<string> {
  if (stop.aborted) throw new GitStopped('git was not started any more')
  const child = start(cwd, args, env)
  const said = Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return waitForOwn(child.pid, finish())

  async function finish(): Promise<string> {
    const cause = await firstOf({ said, stop, force, late: ms })
    if (cause !== 'said') {
      sendSignal(-child.pid, 'SIGTERM')
      await firstOf({ said, force, late: TERM_MS })
      sendSignal(-child.pid, 'SIGKILL')
      await child.exited
      const words = cause === 'late' ? `git took longer than ${ms / 60_000} min` : 'git was ended'
      throw cause === 'late'
        ? new UserError(`${words}: git ${args.join(' ')}`)
        : new GitStopped(words)
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
      // A signal of the terminal is not for it: it would leave its work half done.
      detached: true,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
  } catch (error) {
    throw new UserError(`isolation=worktree needs git: ${errorText(error)}`)
  }
}

/** Aborts so long after another signal; `release` forgets about it. */
export function soonAfter(
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
