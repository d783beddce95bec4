import type { Command } from '../command.ts'
import { CONFIG_OPTIONS } from './run.ts'

export const promptCommand: Command = {
  summary: 'Check a prompt: its phases, the files it reads, the tasks it queues.',
  usage: [
    'forkhestra prompt check FILE [--json]                   a prompt file; - is standard input',
    'forkhestra prompt check --chain <name> [VAR=value …]    the prompts of a chain',
  ],
  examples: [
    ['forkhestra prompt check prompts/build.md', 'exit code 0, or 2 with the problems'],
    ['forkhestra prompt check --chain build', 'the prompt of every step'],
  ],
  json: 'object',
  options: {
    chain: { value: '<name>', help: 'the prompts of a named chain of the configuration' },
    'raw-prompt': { help: 'treat the prompt as plain text' },
    ...CONFIG_OPTIONS,
    json: { help: 'one JSON object' },
  },
  async run(input) {
    const { checkPrompt } = await import('../prompt-check.ts')
    return checkPrompt(input)
  },
}
