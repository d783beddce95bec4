import type { Command, Options } from '../command.ts'

/** Options of every queue command. */
export const QUEUE_OPTIONS: Options = {
  run: {
    value: '<id>',
    help: 'run to use (default: your own run, or the newest)',
  },
  cwd: { value: '<path>', help: 'project folder (default: found from the current folder upwards)' },
  json: { help: 'one JSON object' },
}

export const queueCommand: Command = {
  summary: 'Show queued, running and finished tasks, or verify the queue.',
  usage: ['forkhestra queue [--all]', 'forkhestra queue verify'],
  examples: [
    ['forkhestra queue', 'your tasks and the free slots'],
    ['forkhestra queue --all', 'also tasks of sub-agents'],
    ['forkhestra queue verify', 'check that nothing was lost or delivered twice'],
  ],
  json: 'object',
  options: {
    all: { help: 'show the tasks of all agents in the run' },
    ...QUEUE_OPTIONS,
  },
  words: ['verify'],
  async run(input) {
    const { showQueue } = await import('../queue/show.ts')
    return showQueue(input)
  },
}
