import { firstCause } from '../../base/first-cause.ts'
import { errorText } from '../../base/errors.ts'
import { waitForAside } from '../../base/linux/children.ts'
import { sendSignal } from '../../run/process/child.ts'

/** How long a command may take, as long as all tries of a webhook. */
const LIMIT_MS = 8000

/** Runs a program that belongs to no run, and returns why it failed. */
export async function startCommand(
  argv: readonly string[],
  { stdin, cwd, env }: { stdin: string; cwd: string; env: Readonly<Record<string, string>> },
  stop: AbortSignal,
): Promise<string | undefined> {
  try {
    const child = Bun.spawn([...argv], {
      cwd,
      env,
      stdin: Buffer.from(stdin),
      stdout: 'ignore',
      stderr: 'ignore',
      detached: true,
    })
    const ended = waitForAside(child.pid, child.exited)
    const cause = await firstCause({ ended, stop, late: LIMIT_MS })
    // Including what it has left in the background.
    sendSignal(-child.pid, 'SIGKILL')
    const code = await ended
    if (cause === 'ended') return code === 0 ? undefined : `exit ${code}`
    return cause === 'late' ? `ended after ${LIMIT_MS / 1000} s` : 'the run was stopped'
  } catch (error) {
    return errorText(error)
  }
}
