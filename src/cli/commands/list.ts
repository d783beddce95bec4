import type { Command } from '../command.ts'
import { CONFIG_OPTIONS } from './run.ts'

export const listCommand: Command = {
  summary: 'List the chains and agents of the configuration.',
  usage: ['forkhestra list [--json | --plain]'],
  examples: [
    ['forkhestra list', 'for people'],
    ['forkhestra list --plain', 'for scripts: kind, name and description, separated by tabs'],
  ],
  json: 'object',
  options: {
    ...CONFIG_OPTIONS,
    plain: { help: 'one record per line' },
    json: { help: 'one JSON object' },
  },
  words: [],
  async run(input) {
    const { listChains } = await import('../list-chains.ts')
    return listChains(input)
  },
}
