import { errorText, UserError } from '../../base/errors.ts'
import { firstCause } from '../../base/first-cause.ts'
import { findGit, SAFE_GIT } from '../../base/git.ts'
import { waitForOwn } from '../../base/linux/children.ts'
import { sendSignal } from './child.ts'

/** Work was stopped before it was finished. */
export class StopError extends Error {}

/** Time limit for a git that hangs, for example in a filter of the repository. */
export interface GitLimits {
  readonly ms: number
  readonly stop?: AbortSignal
  readonly force?: AbortSignal
  /** Time between SIGTERM, on which git cleans up, and SIGKILL. */
  readonly termMs?: number
}

/** Enough for the names of half a million files. */
const MOST_BYTES = 64 * 1024 * 1024

/** Returns stdout; throws stderr as an error, a `UserError` if git cannot be run, or a `StopError`. */
export async function runGit(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  limits: GitLimits,
): Promise<Buffer> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await runOnce(cwd, args, env, limits)
    } catch (error) {
      const isAgain = tries < MOST_TRIES && HALF_MADE.test(errorText(error)) && isRepeatable(args)
      if (!isAgain) throw error
      await firstCause({ stop: limits.stop, pause: PAUSE_MS })
    }
  }
}

/** Git reads the folders of all worktrees, and fails while another process is creating one. */
const HALF_MADE = /failed to read .*\/commondir/
const MOST_TRIES = 40
const PAUSE_MS = 50

/** Other git commands may have done part of their work. */
function isRepeatable(args: readonly string[]): boolean {
  if (args.includes('merge')) return args.includes('--ff-only')
  return !['commit', 'cherry-pick'].some((command) => args.includes(command))
}

async function runOnce(
  cwd: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  limits: GitLimits,
): Promise<Buffer> {
  if (limits.stop?.aborted === true) throw new StopError('stopped before git was started')
  const child = start(cwd, args, env)
  const said = Promise.all([
    Bun.readableStreamToBytes(child.stdout),
    Bun.readableStreamToText(child.stderr),
    child.exited,
  ])
  return waitForOwn(child.pid, finish())

  async function finish(): Promise<Buffer> {
    const { ms, stop, force, termMs = 2000 } = limits
    const cause = await firstCause({ said, stop, force, late: ms })
    if (cause !== 'said') {
      sendSignal(-child.pid, 'SIGTERM')
      await firstCause({ said, force, late: termMs })
      sendSignal(-child.pid, 'SIGKILL')
      await child.exited
      if (cause !== 'late') throw new StopError('git was stopped')
      throw new UserError(`git took longer than ${ms / 60_000} min: git ${args.join(' ')}`)
    }
    const [out, err, code] = await said
    if (code === 0) return Buffer.from(out.buffer, out.byteOffset, out.byteLength)
    throw new Error(err.trim() || `git ${args[0]} failed`)
  }
}

function start(cwd: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  try {
    const git = findGit(env['PATH'])
    if (git === undefined) throw new Error('it is not on PATH')
    return Bun.spawn([git, ...SAFE_GIT, ...args], {
      cwd,
      env: { ...env, LC_ALL: 'C' },
      // Its own process group: filters are separate processes, and Ctrl-C must not interrupt git halfway.
      detached: true,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      maxBuffer: MOST_BYTES,
      killSignal: 'SIGKILL',
    })
  } catch (error) {
    throw new UserError(`cannot run git: ${errorText(error)}`)
  }
}
