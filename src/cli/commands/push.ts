import type { Command } from '../command.ts'
import { QUEUE_OPTIONS } from './queue.ts'

export const pushCommand: Command = {
  summary: 'Queue a task for a sub-agent; nothing is started.',
  usage: [
    'forkhestra push [options] PROMPT',
    'forkhestra push [options] -    the prompt from stdin',
  ],
  examples: [
    ['forkhestra push --name tests "Write tests"', 'into your own queue; its name is printed'],
    ['forkhestra push --agent builder - < task.md', 'for another agent; the prompt is in a file'],
    ['forkhestra push --retry 2 "Look it up"', 'tried again where the service was overloaded'],
    ['forkhestra run-queue', 'starts what is queued'],
  ],
  options: {
    name: { value: '<name>', help: 'what the task is called; made up if absent' },
    agent: {
      value: '<agent>',
      help: 'who does it, as in a chain; your own kind of agent if absent',
    },
    model: { value: '<model>', help: 'another model than that of the agent' },
    timeout: { value: '<time>', help: 'limit of each attempt: 90s, 30m' },
    retry: { value: '<n>', help: 'further attempts after a failure that may pass; 0 if absent' },
    isolation: {
      value: '<how>',
      help: 'shared (the same folder), or worktree: in a git worktree of its own',
    },
    'on-parent-end': {
      value: '<what>',
      help: 'wait (for it), or cancel (it): where you end first',
    },
    ...QUEUE_OPTIONS,
  },
  async run(input) {
    const { pushTask } = await import('../queue/push.ts')
    return pushTask(input)
  },
}
