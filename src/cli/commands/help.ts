import type { Command } from '../command.ts'
import { printHelp, type Program } from '../program.ts'

export function makeHelpCommand(program: Program): Command {
  const { name } = program
  return {
    summary: `Show help for ${name}, or for one of its commands.`,
    usage: [`${name} help [COMMAND]`],
    examples: [
      [`${name} help`, 'all commands'],
      [`${name} help list`, `the same as: ${name} list --help`],
    ],
    options: {},
    run: ({ positionals, rest }) => printHelp(program, [...positionals, ...rest]),
  }
}
