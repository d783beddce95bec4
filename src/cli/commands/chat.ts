import type { Command } from '../command.ts'
import { CONFIG_OPTIONS, LIMIT_OPTIONS } from './run.ts'

const { 'max-cost': maxCost, 'max-tokens': maxTokens, 'max-duration': maxDuration } = LIMIT_OPTIONS

export const chatCommand: Command = {
  summary: 'Talk to the built-in agent.',
  usage: [
    'forkhestra chat [AGENT] [options]        on a terminal: type, /help shows what else there is',
    'forkhestra chat [AGENT] -p TEXT          one turn; the answer is on stdout',
    'forkhestra chat [AGENT] < FILE           the same with a file, or with what comes from a pipe',
    'forkhestra chat --resume [RUN]           go on with an earlier chat, the newest if absent',
    'forkhestra chat --list                   the chats of this project',
  ],
  examples: [
    ['forkhestra chat', 'with the model of the provider whose key is set'],
    ['forkhestra chat reviewer', 'with a native agent of the configuration'],
    ['forkhestra chat --model openai/gpt-6-sol', 'with another model'],
    ['git diff | forkhestra chat -p "Review this change."', 'both, as one turn'],
    ['forkhestra chat --resume -p "And the tests?"', 'goes on, for one turn'],
  ],
  options: {
    prompt: {
      short: 'p',
      value: '<text>',
      help: 'say this, and end; before what comes from a pipe',
    },
    lines: { help: 'without a terminal: each line of stdin is a turn' },
    model: { value: '<model>', help: 'provider/id, or sonnet, opus, haiku' },
    'base-url': { value: '<url>', help: 'where the model is asked, e.g. for compatible/…' },
    resume: { help: 'go on with the chat of this id, or with the newest' },
    list: { help: 'list the chats, the newest first' },
    'raw-prompt': { help: 'nothing that is said is a command' },
    ...CONFIG_OPTIONS,
    'max-cost': maxCost!,
    'max-tokens': maxTokens!,
    'max-duration': maxDuration!,
    'kill-orphans': { help: 'end what a run that died has left running' },
    json: { help: 'one JSON event a line on stdout; with --list one object' },
  },
  async run(input) {
    const { chat } = await import('../chat/chat.ts')
    return chat(input)
  },
}
