import type { Command } from '../command.ts'
import { CONFIG_OPTIONS } from './run.ts'

export const doctorCommand: Command = {
  summary: 'Check what a run needs: coding CLIs, login, git, configuration, disk, clock.',
  usage: ['forkhestra doctor [--json]'],
  examples: [
    ['forkhestra doctor', 'each problem with its fix; spends no tokens'],
    ['forkhestra doctor --json', 'for scripts; exit code 1 if there is a problem'],
  ],
  json: 'object',
  options: { ...CONFIG_OPTIONS, json: { help: 'one JSON object' } },
  words: [],
  async run(input) {
    const { runDoctor } = await import('../doctor.ts')
    return runDoctor(input)
  },
}
