import type { Command, Options } from '../command.ts'

/** What every verb of queues and inboxes takes. */
export const QUEUE_OPTIONS: Options = {
  run: {
    value: '<id>',
    help: 'as main of this run; if absent as yourself, else as main of the newest',
  },
  cwd: { value: '<path>', help: 'the project folder, taken literally' },
  json: { help: 'one JSON object' },
}

export const queueCommand: Command = {
  summary: 'Show queued, running and finished tasks, or verify the queue.',
  usage: ['forkhestra queue [--all]', 'forkhestra queue verify'],
  examples: [
    ['forkhestra queue', 'your own tasks, and what there is room for'],
    ['forkhestra queue --all', 'also those of sub-agents'],
    ['forkhestra queue verify', 'proves that nothing was lost or delivered twice'],
  ],
  options: {
    all: { help: 'those of all agents of the run' },
    ...QUEUE_OPTIONS,
  },
  words: ['verify'],
  async run(input) {
    const { showQueue } = await import('../queue/look.ts')
    return showQueue(input)
  },
}
