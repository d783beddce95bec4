import type { Command } from '../../command.ts'
import { SHELLS } from '../../commands/general.ts'

export const completionsCommand: Command = {
  summary: 'Print a completion script for a shell.',
  usage: ['forge-tasks completions bash|zsh|fish'],
  examples: [
    ['source <(forge-tasks completions bash)', 'in ~/.bashrc'],
    ['source <(forge-tasks completions zsh)', 'in ~/.zshrc'],
    ['forge-tasks completions fish | source', 'in ~/.config/fish/config.fish'],
  ],
  options: {},
  words: SHELLS,
  async run(input) {
    const [{ printCompletions }, { TASKS_COMPLETIONS }] = await Promise.all([
      import('../../completions/print.ts'),
      import('../completions/program.ts'),
    ])
    return printCompletions(TASKS_COMPLETIONS, input)
  },
}
