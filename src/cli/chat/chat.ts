import { isatty } from 'node:tty'
import { UserError } from '../../base/errors.ts'
import { UsageError, type Input } from '../command.ts'
import { isStdoutClosed } from '../closed-stdout.ts'
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
  if (word !== undefined && /\s/.test(word)) {
    throw new UsageError(
      `${JSON.stringify(word)} is no name of an agent.`,
      'What is to be said stands behind -p: forkhestra chat -p "…"',
    )
  }
  if (input.flag('list')) return listChats(input)
  if (isStdoutClosed()) {
    throw new UserError(
      'stdout is closed: nobody would get the answer.',
      'Send it to a file: forkhestra chat … >answer.txt',
    )
  }
  if (!input.flag('resume')) {
    const begun = await beginChat(input, word)
    return (await chooseTalk(input))(begun)
  }
  // Nobody else is kept from a chat while something is typed for it.
  const talk = await chooseTalk(input)
  return talk(await goOnWithChat(input, word))
}

/** With a person on a terminal, or with a script: what it says is read before anything begins. */
async function chooseTalk(input: Input): Promise<(chat: Chat) => Promise<number>> {
  const prompt = input.text('prompt')
  const json = input.flag('json')
  const isTerminal = isatty(0) && isatty(1) && process.env['TERM'] !== 'dumb'
  if (isTerminal && prompt === undefined && !json) return talkOnTerminal
  if (isatty(0) && prompt === undefined) tellTyping(input.flag('lines'))
  if (input.flag('lines')) {
    const lines = linesOf(prompt, process.stdin)
    return (opened) => talkThroughPipes(opened, lines, json)
  }
  const saying = await oneSaying(prompt, isatty(0), input.flag('raw-prompt'))
  return (opened) => talkThroughPipes(opened, saying, json)
}

/** Whoever has no terminal for a chat, and yet a keyboard, is not left to wait. */
function tellTyping(isLines: boolean): void {
  const what = isLines ? 'Each line that you type is a turn' : 'All that you type is one turn'
  console.error(`[forkhestra] ${what}; Ctrl-D at the beginning of a line ends it.`)
}
