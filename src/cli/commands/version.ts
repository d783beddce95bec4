import { VERSION } from '../../setup/version.ts'
import type { Command } from '../command.ts'

export const versionCommand: Command = {
  summary: 'Print the version.',
  usage: ['forkhestra version [--json]'],
  examples: [['forkhestra version', 'the same as: forkhestra --version']],
  options: { json: { help: 'one JSON object' } },
  words: [],
  async run(input) {
    console.log(input.flag('json') ? JSON.stringify({ version: VERSION }) : VERSION)
    return 0
  },
}
