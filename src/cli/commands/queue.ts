import type { Command, Options } from '../command.ts'
import { CWD, JSON_OBJECT, ORPHANS } from './run.ts'

const RUN: Options = {
  run: { value: '<id>', help: 'run to use (default: your own, or the newest)' },
}
const QUEUE_OPTIONS: Options = { ...RUN, ...CWD, ...JSON_OBJECT }

export const QUEUE_COMMANDS = {
  push: {
    summary: 'Queue a task for a sub-agent without starting it.',
    usage: [
      'forkhestra push [options] PROMPT',
      'forkhestra push [options] -       read the prompt from stdin',
    ],
    examples: [
      ['forkhestra push --name tests "Write tests"', 'queue it and print its name'],
      ['forkhestra push --agent builder - < task.md', 'for another agent, prompt from a file'],
      ['forkhestra push --retry 2 "Look it up"', 'retry up to twice if the service fails'],
      ['forkhestra run-queue', 'start the queued tasks'],
    ],
    options: {
      name: { value: '<name>', help: 'name of the task (default: generated)' },
      agent: { value: '<agent>', help: 'agent for the task (default: same kind as yours)' },
      model: { value: '<model>', help: 'model to use instead of the default' },
      timeout: { value: '<time>', help: 'time limit of each attempt: 90s, 30m' },
      retry: { value: '<n>', help: 'number of retries after a temporary failure (default: 0)' },
      isolation: {
        value: '<how>',
        help: 'shared (same folder) or worktree (its own git worktree)',
      },
      'on-parent-end': { value: '<what>', help: 'what to do if you finish first: wait or cancel' },
      ...QUEUE_OPTIONS,
    },
    run: async (input) => (await import('../queue/change.ts')).pushTask(input),
  },
  'run-queue': {
    summary: 'Start queued tasks; outside a run, wait until they end.',
    usage: ['forkhestra run-queue [N] [--parallel N]'],
    examples: [
      ['forkhestra run-queue', 'all queued tasks; exit code 1 if one fails'],
      ['forkhestra run-queue 2', 'the two oldest'],
      ['forkhestra run-queue --parallel 4', 'all tasks, four at a time, including new ones'],
    ],
    options: {
      parallel: { value: '<n>', help: 'run all tasks, N at a time' },
      ...ORPHANS,
      verbose: { short: 'v', help: 'also show the output of sub-agents' },
      ...RUN,
      ...CWD,
      json: { help: 'print one JSON object, then one event per line if tasks run here' },
    },
    run: async (input) => (await import('../queue/run-queue.ts')).startQueue(input),
  },
  queue: {
    summary: 'Show queued, running and finished tasks, or verify the queue.',
    usage: ['forkhestra queue [--all]', 'forkhestra queue verify'],
    examples: [
      ['forkhestra queue', 'your tasks and the free slots'],
      ['forkhestra queue --all', 'also the tasks of sub-agents'],
      ['forkhestra queue verify', 'check that nothing was lost or delivered twice'],
    ],
    options: { all: { help: 'show the tasks of all agents in the run' }, ...QUEUE_OPTIONS },
    words: ['verify'],
    run: async (input) => (await import('../queue/show.ts')).showQueue(input),
  },
  check: {
    summary: 'Read the messages in the inbox without waiting.',
    usage: ['forkhestra check [--from A,B] [--lifo] [--max N]'],
    examples: [
      ['forkhestra check', 'all messages; they are removed from the inbox'],
      ['forkhestra check --from tests', 'messages from one agent'],
      ['forkhestra inbox', 'show the senders without reading'],
    ],
    options: {
      from: { value: '<agents>', help: 'only from these agents, separated by commas' },
      lifo: { help: 'newest first' },
      max: { value: '<n>', help: 'read at most N messages (default: 100)' },
      ...QUEUE_OPTIONS,
    },
    run: async (input) => (await import('../queue/read.ts')).checkInbox(input),
  },
  receive: {
    summary: 'Wait for a message, or for an answer from each of several agents.',
    usage: ['forkhestra receive [--from A,B] [--lifo] [--timeout T]'],
    examples: [
      ['forkhestra receive', 'one message from anyone; exit code 1 if no one can send one'],
      ['forkhestra receive --from a,b', 'one from each, after both have answered or ended'],
      ['forkhestra receive --timeout 5m', 'wait at most 5 minutes; exit code 1 if nothing arrived'],
    ],
    options: {
      from: { value: '<agents>', help: 'wait until each of these has answered' },
      lifo: { help: 'newest first' },
      timeout: { value: '<time>', help: 'wait at most this long: 30 (seconds), 90s, 5m' },
      ...QUEUE_OPTIONS,
    },
    run: async (input) => (await import('../queue/read.ts')).receiveMessages(input),
  },
  inbox: {
    summary: 'List the senders of unread messages.',
    usage: ['forkhestra inbox'],
    examples: [['forkhestra inbox', 'the messages stay unread']],
    options: QUEUE_OPTIONS,
    words: [],
    run: async (input) => (await import('../queue/show.ts')).showInbox(input),
  },
  send: {
    summary: 'Send a message to an agent.',
    usage: [
      'forkhestra send AGENT MESSAGE',
      'forkhestra send AGENT -        read the message from stdin',
    ],
    examples: [
      ['forkhestra send main "The key is missing"', 'to the agent of the step'],
      ['forkhestra send tests - < notes.md', 'a file to the sub-agent of the task tests'],
    ],
    options: QUEUE_OPTIONS,
    run: async (input) => (await import('../queue/change.ts')).sendMessage(input),
  },
  cancel: {
    summary: 'Cancel a task and everything it started.',
    usage: ['forkhestra cancel NAME'],
    examples: [
      ['forkhestra cancel tests', 'its parent receives a failure message'],
      ['forkhestra queue', 'list the names of the tasks'],
    ],
    options: QUEUE_OPTIONS,
    run: async (input) => (await import('../queue/change.ts')).cancelTask(input),
  },
  mcp: {
    summary: 'Serve queue, inbox and tasks as MCP tools on stdin and stdout.',
    usage: ['forkhestra mcp [--run ID] [--cwd PATH]'],
    examples: [
      ['claude mcp add forkhestra -- forkhestra mcp', 'for Claude Code'],
      ['forkhestra mcp --cwd ../app', 'for another project'],
    ],
    options: {
      ...RUN,
      ...CWD,
      as: { value: '<name>', help: 'name to claim tasks with (default: the name of the client)' },
      ...ORPHANS,
    },
    words: [],
    run: async (input) => (await import('../queue/mcp.ts')).serveMcp(input),
  },
} satisfies Record<string, Command>
