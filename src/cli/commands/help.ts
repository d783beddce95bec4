import type { Command } from '../command.ts'

export const helpCommand: Command = {
  summary: 'Show help for forkhestra, or for one of its verbs.',
  usage: ['forkhestra help [VERB]'],
  examples: [
    ['forkhestra help', 'all verbs and the options of a run'],
    ['forkhestra help resume', 'the same as: forkhestra resume --help'],
  ],
  options: {},
  async run({ positionals, rest }) {
    const { printHelp } = await import('../print-help.ts')
    return printHelp([...positionals, ...rest])
  },
}
