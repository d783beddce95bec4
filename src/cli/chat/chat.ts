import { isatty } from 'node:tty'
import { UsageError, type Input } from '../command.ts'
import { listChats } from './list-chats.ts'
import { beginChat, goOnWithChat, type Chat } from './open-chat.ts'
import { linesOf, oneSaying } from './sayings.ts'
import { talkOnTerminal, talkThroughPipes } from './talk.ts'

/** The verb `chat`. */
export async function chat(input: Input): Promise<number> {
  const [word, surplus] = [...input.positionals, ...input.rest]
  if (surplus !== undefined) {
    throw new UsageError(
      `Unexpected argument '${surplus}'.`,
      'What is to be said stands behind -p: forkhestra chat -p "…"',
    )
  }
  if (input.flag('list')) return listChats(input)
  const talk = await chooseTalk(input)
  return talk(input.flag('resume') ? await goOnWithChat(input, word) : await beginChat(input, word))
}

/** With a person on a terminal, or with a script: what it says is read before anything begins. */
async function chooseTalk(input: Input): Promise<(chat: Chat) => Promise<number>> {
  const prompt = input.text('prompt')
  const json = input.flag('json')
  const isTerminal = isatty(0) && isatty(1) && process.env['TERM'] !== 'dumb'
  if (isTerminal && prompt === undefined && !json) return talkOnTerminal
  if (input.flag('lines')) {
    const lines = linesOf(prompt, process.stdin)
    return (opened) => talkThroughPipes(opened, lines, json)
  }
  const saying = await oneSaying(prompt, isatty(0), input.flag('raw-prompt'))
  return (opened) => talkThroughPipes(opened, saying, json)
}
