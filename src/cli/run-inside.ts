import { errorText, UserError } from '../base/errors.ts'
import { isTerminal } from '../base/linux/is-terminal.ts'
import type { Environment } from '../base/environment.ts'
import { isIgnored } from '../host/stop-switch.ts'

/** Runs a command on our terminal, forwards signals, and returns its exit code. */
export async function runInside(command: readonly string[], env: Environment): Promise<number> {
  let child: Bun.Subprocess | undefined
  const forward = (signal: NodeJS.Signals) => child?.kill(signal)
  // The terminal signals the whole foreground group; a second signal would tell the child to kill everything.
  const isShared = [0, 1, 2].some((fd) => isTerminal(fd))
  const fromTerminal = isShared ? () => {} : forward
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) process.on(signal, fromTerminal)
  if (!isIgnored('SIGHUP')) process.on('SIGHUP', fromTerminal)
  process.on('SIGTERM', forward)
  child = start(command, env)
  // 128 + n if a signal ended it.
  return child.exited
}

function start(command: readonly string[], env: Environment): Bun.Subprocess {
  try {
    return Bun.spawn([...command], { env, stdio: ['inherit', 'inherit', 'inherit'] })
  } catch (error) {
    throw new UserError(`'${command[0]}' cannot be started: ${errorText(error)}`)
  }
}
