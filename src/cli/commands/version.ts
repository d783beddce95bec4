import { VERSION } from '../../host/version.ts'
import type { Command } from '../command.ts'

export function makeVersionCommand(name: string): Command {
  return {
    summary: 'Print the version.',
    usage: [`${name} version [--json]`],
    examples: [[`${name} version`, `the same as: ${name} --version`]],
    json: 'object',
    options: { json: { help: 'one JSON object' } },
    words: [],
    async run(input) {
      console.log(input.flag('json') ? JSON.stringify({ version: VERSION }) : VERSION)
      return 0
    },
  }
}
