import { errorText, UserError } from '../base/errors.ts'

/** Runs a command with our own terminal, streams and signals, and returns its exit code. */
export async function runInside(
  command: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  const child = start(command, env)
  // A terminal sends to everybody in its foreground group; forkhestra takes a second one for "now".
  const isShared = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY
  const forward = (signal: NodeJS.Signals) => child.kill(signal)
  const ignore = () => {}
  for (const signal of ['SIGINT', 'SIGQUIT', 'SIGHUP'] as const) {
    process.on(signal, isShared ? ignore : forward)
  }
  process.on('SIGTERM', forward)
  // 128 + n, where a signal ended it.
  return child.exited
}

function start(command: readonly string[], env: Readonly<Record<string, string | undefined>>) {
  try {
    return Bun.spawn([...command], { env, stdio: ['inherit', 'inherit', 'inherit'] })
  } catch (error) {
    throw new UserError(`'${command[0]}' cannot be started: ${errorText(error)}`)
  }
}
