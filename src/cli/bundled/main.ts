import { UserError } from '../../base/errors.ts'
import { VERSION } from '../../setup/version.ts'
import { parseInput } from '../command.ts'
import { guardConsole } from '../guard-console.ts'
import { renderHelp } from '../help.ts'
import { renderError } from '../render-error.ts'
import { makeBundledCommand } from './command.ts'

/** The front door of the programs that are one agent each. */
export async function bundledMain(name: string, args: readonly string[]): Promise<number> {
  guardConsole()
  try {
    const command = makeBundledCommand(name)
    // Nobody pays an agent for these words.
    if (args.length === 1 && args[0] === 'version') {
      console.log(VERSION)
      return 0
    }
    if (args.length === 1 && args[0] === 'help') {
      console.log(renderHelp('', command))
      return 0
    }
    const input = parseInput(args, command)
    if (!input.flag('help')) return await command.run(input)
    console.log(renderHelp('', command))
    return 0
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    console.error(renderError(name, error))
    return error.exitCode
  }
}
