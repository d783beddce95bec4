import { UserError } from '../../base/errors.ts'
import { parseInput, wantsJson, type Command } from '../command.ts'
import { guardConsole } from '../guard-console.ts'
import { renderHelp } from '../help.ts'
import { renderError } from '../render-error.ts'
import { CannotPrint, print } from './print.ts'

/** Reads what stands behind a verb, and does it. */
export async function runVerb(
  name: string,
  command: Command,
  args: readonly string[],
): Promise<number> {
  const input = parseInput(args, command)
  if (input.flag('help')) {
    print(renderHelp(name, command))
    return 0
  }
  return command.run(input)
}

/** What went wrong becomes words and an exit code. */
export async function answer(
  args: readonly string[],
  work: () => Promise<number>,
): Promise<number> {
  guardConsole()
  try {
    return await work()
  } catch (error) {
    if (error instanceof UserError) return refuse(error, args)
    console.error('forge-tasks: This is a mistake in forge-tasks itself. Please report it:')
    console.error(error)
    return 1
  }
}

function refuse(error: UserError, args: readonly string[]): number {
  const { exitCode, problems } = error
  console.error(renderError('forge-tasks', error))
  if (wantsJson(args) && !(error instanceof CannotPrint)) {
    try {
      print(JSON.stringify({ ok: false, problems }))
    } catch (lost) {
      if (!(lost instanceof CannotPrint)) throw lost
      console.error(renderError('forge-tasks', lost))
    }
  }
  return exitCode
}
