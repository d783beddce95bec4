import type { Command } from '../command.ts'
import { CONFIG_OPTIONS, LIMIT_OPTIONS } from './run.ts'

const { 'max-cost': maxCost, 'max-tokens': maxTokens, 'max-duration': maxDuration } = LIMIT_OPTIONS

export const chatCommand: Command = {
  summary: 'Talk to the built-in agent.',
  usage: [
    'forkhestra chat [AGENT] [options]        on a terminal; type /help for help',
    'forkhestra chat [AGENT] -p TEXT          one turn; prints the answer',
    'forkhestra chat [AGENT] < FILE           one turn with a file or a pipe as input',
    'forkhestra chat --resume [RUN]           continue a chat (default: the newest)',
    'forkhestra chat --list                   the chats of this project',
  ],
  examples: [
    ['forkhestra chat', 'with the default model of your provider'],
    ['forkhestra chat reviewer', 'with an agent from the configuration'],
    ['forkhestra chat --model openai/gpt-6.1-sol', 'with another model'],
    ['git diff | forkhestra chat -p "Review this change."', 'the prompt and the diff as one turn'],
    ['forkhestra chat --resume -p "And the tests?"', 'continue for one turn'],
  ],
  json: 'events',
  options: {
    prompt: {
      short: 'p',
      value: '<text>',
      help: 'send this message and exit; piped input is appended',
    },
    lines: { help: 'without a terminal: treat each line of stdin as a turn' },
    model: { value: '<model>', help: 'provider/id, or sonnet, opus, haiku' },
    'base-url': { value: '<url>', help: 'address of the model API, for example for compatible/…' },
    resume: { help: 'continue the chat with this id (default: the newest)' },
    list: { help: 'list the chats, newest first' },
    'raw-prompt': { help: 'send everything as plain text' },
    ...CONFIG_OPTIONS,
    'max-cost': maxCost!,
    'max-tokens': maxTokens!,
    'max-duration': maxDuration!,
    'kill-orphans': { help: 'kill the processes that a dead run left behind' },
    json: { help: 'print one JSON event per line; with --list one object' },
  },
  async run(input) {
    const { chat } = await import('../chat/chat.ts')
    return chat(input)
  },
}
