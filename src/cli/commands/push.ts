import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const pushCommand: Command = {
  summary: 'Queue a task for a sub-agent; nothing is started.',
  usage: [
    'forkhestra push [options] PROMPT',
    'forkhestra push [options] -    the prompt from stdin',
  ],
  examples: [
    ['forkhestra push --name tests "Write tests"', 'add it to your queue and print its name'],
    [
      'forkhestra push --agent builder - < task.md',
      'for another agent, with the prompt from a file',
    ],
    ['forkhestra push --retry 2 "Look it up"', 'retry up to 2 times if the service fails'],
    ['forkhestra run-queue', 'start the queued tasks'],
  ],
  json: 'object',
  options: {
    name: { value: '<name>', help: 'name of the task (default: generated)' },
    agent: {
      value: '<agent>',
      help: 'agent for the task (default: the same kind as yours)',
    },
    model: { value: '<model>', help: 'use this model instead of the default one' },
    timeout: { value: '<time>', help: 'time limit of each attempt: 90s, 30m' },
    retry: { value: '<n>', help: 'number of retries after a temporary failure (default: 0)' },
    isolation: {
      value: '<how>',
      help: 'shared (same folder) or worktree (its own git worktree)',
    },
    'on-parent-end': {
      value: '<what>',
      help: 'wait or cancel, if you finish before the task',
    },
    ...QUEUE_OPTIONS,
  },
  async run(input) {
    const { pushTask } = await import('../queue/push.ts')
    return pushTask(input)
  },
}
