import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { counted, formatMoney } from '../../base/amounts.ts'
import { formatDuration } from '../../base/durations.ts'
import { UserError } from '../../base/errors.ts'
import { shorten } from '../../base/shorten.ts'
import { isTerminal } from '../../base/linux/is-terminal.ts'
import { printable } from '../../base/terminal/printable.ts'
import { renderPrompt } from '../../chain/prompts/read-phases.ts'
import { chatsIn, describeChat } from '../../host/chat/list-chats.ts'
import { beginChat, chooseChat, resumeChat, type ChatOptions } from '../../host/chat/open-chat.ts'
import type { ReadyRun } from '../../host/run-session.ts'
import type { Inputs } from '../../views/chat/piped.ts'
import { renderTable } from '../../views/table.ts'
import { isStdoutClosed } from '../closed-stdout.ts'
import { UsageError, type Input } from '../command.ts'
import { configPath, frontEndOf } from '../front-end.ts'
import { readOverrides } from '../overrides.ts'
import { printResult } from '../print.ts'
import { recordsFor } from '../records/choose-run.ts'
import { sendOne, talkOnTerminal, talkThroughPipes } from './talk.ts'

export async function chat(input: Input): Promise<number> {
  const [agent, surplus] = [...input.positionals, ...input.rest]
  const hint = 'Pass the message with -p: forkhestra chat -p "…"'
  if (surplus !== undefined) throw new UsageError(`Unexpected argument '${surplus}'.`, hint)
  if (agent !== undefined && /\s/.test(agent))
    throw new UsageError(`${JSON.stringify(agent)} is not the name of an agent.`, hint)
  if (input.flag('list')) return listChats(input)
  if (isStdoutClosed()) {
    throw new UserError(
      'stdout is closed: the answer would be lost.',
      'Redirect it to a file: forkhestra chat … >answer.txt',
    )
  }
  if (!input.flag('resume')) {
    const begun = await beginChat(frontEndOf(input), optionsOf(input, agent))
    return (await chooseTalk(input))(begun)
  }
  const { id } = chooseChat(recordsFor(input), agent)
  // Reads the input first, because an open chat is locked for others.
  const talk = await chooseTalk(input)
  return talk(await resumeChat(frontEndOf(input), optionsOf(input, id)))
}

function listChats(input: Input): number {
  const chats = chatsIn(recordsFor(input)).map(describeChat)
  const rows = chats.map(({ run, status, agent, ageMs, turns, costUsd, last }) => [
    run,
    status,
    agent,
    `${formatDuration(ageMs)} ago`,
    counted(turns, 'turn'),
    formatMoney(costUsd),
    shorten(printable((last ?? '').trim().split('\n', 1)[0]!), 60),
  ])
  const text =
    rows.length === 0 ? 'No chats yet; start one: forkhestra chat' : renderTable(rows).join('\n')
  return printResult(input, { ok: true, chats }, text)
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

/** A chat with a user on a terminal, or with a script whose input is read before the chat begins. */
async function chooseTalk(input: Input): Promise<(ready: ReadyRun) => Promise<number>> {
  const prompt = input.text('prompt')
  const json = input.flag('json')
  const isOnTerminal = isTerminal(0) && isTerminal(1) && process.env['TERM'] !== 'dumb'
  if (isOnTerminal && prompt === undefined && !json) return talkOnTerminal
  if (isTerminal(0) && prompt === undefined) {
    const what = input.flag('lines') ? 'Each line you type' : 'Everything you type'
    console.error(`[forkhestra] ${what} is one turn; Ctrl-D at the beginning of a line ends it.`)
  }
  if (input.flag('lines')) {
    const inputs = linesOf(prompt, process.stdin)
    return (ready) => talkThroughPipes(ready, inputs, json)
  }
  const text = await oneTurn(prompt, input.flag('raw-prompt'))
  return (ready) => sendOne(ready, text, json)
}

/** One turn: the prompt, followed by piped input. */
async function oneTurn(prompt: string | undefined, isRaw: boolean): Promise<string> {
  // Reads from a terminal only if there is no prompt.
  const piped = isTerminal(0) && prompt !== undefined ? '' : await Bun.stdin.text()
  const text = joined(prompt ?? '', piped, isRaw)
  if (text.trim() === '') {
    throw new UsageError(
      'The message is empty.',
      'For example: forkhestra chat -p "Explain this project."',
    )
  }
  return text
}

/** Piped input after a prompt is plain text, without commands. */
function joined(prompt: string, piped: string, isRaw: boolean): string {
  if (prompt.trim() === '' || piped.trim() === '') return prompt.trim() === '' ? piped : prompt
  if (isRaw) return `${prompt}\n\n${piped}`
  return renderPrompt([`${prompt}\n\n`, { value: piped }], 'the prompt')
}

/** One turn for the prompt, then one per line. */
async function* linesOf(prompt: string | undefined, stdin: Readable): Inputs {
  if (prompt !== undefined) yield prompt
  for await (const line of createInterface({ input: stdin })) yield line
}
