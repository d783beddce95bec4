import type { Command } from '../command.ts'

/** Its words are read by the front door of forge-tasks: see `main.ts`. */
export const tasksCommand: Command = {
  summary: 'The task database that agents and people share; the same as forge-tasks.',
  usage: ['forkhestra tasks COMMAND …'],
  examples: [['forkhestra tasks next --claim', 'the same as: forge-tasks next --claim']],
  options: {},
  async run({ positionals }) {
    const { tasksMain } = await import('../tasks/main.ts')
    return tasksMain(positionals)
  },
}
