import { UserError } from '../../base/errors.ts'
import { isTerminal } from '../../base/terminal/is-terminal.ts'
import { UsageError, type Input } from '../command.ts'
import { isStdoutClosed } from '../closed-stdout.ts'
import { beginChat, resumeChat, type ChatOptions } from '../../host/chat/open-chat.ts'
import type { ReadyRun } from '../../host/run-session.ts'
import { configPath, frontEndOf } from '../front-end.ts'
import { readOverrides } from '../overrides.ts'
import { listChats } from './list-chats.ts'
import { linesOf, oneTurn } from './turns.ts'
import { talkOnTerminal, talkThroughPipes } from './talk.ts'

/** The command `chat`. */
export async function chat(input: Input): Promise<number> {
  const [word, surplus] = [...input.positionals, ...input.rest]
  if (surplus !== undefined) {
    throw new UsageError(
      `Unexpected argument '${surplus}'.`,
      'Pass the message with -p: forkhestra chat -p "…"',
    )
  }
  if (word !== undefined && /\s/.test(word)) {
    throw new UsageError(
      `${JSON.stringify(word)} is not the name of an agent.`,
      'Pass the message with -p: forkhestra chat -p "…"',
    )
  }
  if (input.flag('list')) return listChats(input)
  if (isStdoutClosed()) {
    throw new UserError(
      'stdout is closed: the answer would be lost.',
      'Redirect it to a file: forkhestra chat … >answer.txt',
    )
  }
  if (!input.flag('resume')) {
    const begun = await beginChat(frontEndOf(input), optionsOf(input, word))
    return (await chooseTalk(input))(begun)
  }
  // Nobody else is kept from a chat while something is typed for it.
  const talk = await chooseTalk(input)
  return talk(await resumeChat(frontEndOf(input), optionsOf(input, word)))
}

function optionsOf(input: Input, word: string | undefined): ChatOptions {
  return {
    word,
    config: configPath(input, frontEndOf(input).project),
    model: input.text('model'),
    baseUrl: input.text('base-url'),
    overrides: readOverrides(input),
    rawPrompt: input.flag('raw-prompt'),
    killOrphans: input.flag('kill-orphans'),
  }
}

/** With a person on a terminal, or with a script: what it says is read before anything begins. */
async function chooseTalk(input: Input): Promise<(chat: ReadyRun) => Promise<number>> {
  const prompt = input.text('prompt')
  const json = input.flag('json')
  const isOnTerminal = isTerminal(0) && isTerminal(1) && process.env['TERM'] !== 'dumb'
  if (isOnTerminal && prompt === undefined && !json) return talkOnTerminal
  if (isTerminal(0) && prompt === undefined) tellTyping(input.flag('lines'))
  if (input.flag('lines')) {
    const lines = linesOf(prompt, process.stdin)
    return (opened) => talkThroughPipes(opened, lines, json)
  }
  const saying = await oneTurn(prompt, isTerminal(0), input.flag('raw-prompt'))
  return (opened) => talkThroughPipes(opened, saying, json)
}

/** Whoever has no terminal for a chat, and yet a keyboard, is not left to wait. */
function tellTyping(isLines: boolean): void {
  const what = isLines ? 'Each line you type is one turn' : 'Everything you type is one turn'
  console.error(`[forkhestra] ${what}; Ctrl-D at the beginning of a line ends it.`)
}
