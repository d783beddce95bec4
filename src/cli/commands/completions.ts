import type { Command } from '../command.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const

export const completionsCommand: Command = {
  summary: 'Print a completion script for a shell.',
  usage: ['forkhestra completions bash|zsh|fish'],
  examples: [
    ['source <(forkhestra completions bash)', 'in ~/.bashrc'],
    ['source <(forkhestra completions zsh)', 'in ~/.zshrc'],
    ['forkhestra completions fish | source', 'in ~/.config/fish/config.fish'],
  ],
  options: {},
  words: SHELLS,
  async run(input) {
    const { printCompletions } = await import('../print-completions.ts')
    return printCompletions(input)
  },
}
