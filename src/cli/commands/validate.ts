import type { Command } from '../command.ts'
import { CONFIG_OPTIONS } from './run.ts'

export const validateCommand: Command = {
  summary: 'Check the configuration: every chain, agent and file that it names.',
  usage: ['forkhestra validate [--json]'],
  examples: [
    ['forkhestra validate', 'exit code 0, or 2 with everything that is wrong'],
    ['forkhestra validate --config other.json', 'another file'],
  ],
  json: 'object',
  options: { ...CONFIG_OPTIONS, json: { help: 'one JSON object' } },
  words: [],
  async run(input) {
    const { validateConfiguration } = await import('../validate-configuration.ts')
    return validateConfiguration(input)
  },
}
