import { hasColour } from '../../base/terminal/colour.ts'
import { errorCode, errorText, errorWithHint, NotNow, UserError } from '../../base/errors.ts'
import { isTerminal } from '../../base/linux/is-terminal.ts'
import { printableLines } from '../../base/terminal/printable.ts'
import { stepsOf, type Plan } from '../../chain/plan/plan.ts'
import { quoterInside } from '../../engines/marker/line-quoter.ts'
import { lastExchange } from '../../engines/native/chat-turn.ts'
import { checkMessage } from '../../host/chat/open-chat.ts'
import { chatPath } from '../../host/chat/list-chats.ts'
import { runSession, type ReadyRun } from '../../host/run-session.ts'
import { CAUGHT_SIGNALS, StopSwitch } from '../../host/stop-switch.ts'
import { recordRoot } from '../../records/journal/record-folder.ts'
import type { Person } from '../../run/chain/chat-turns.ts'
import type { Ports } from '../../run/ports.ts'
import { runChat, type Chat } from '../../run/chain/run-chat.ts'
import { HistoryFile } from '../../views/chat/history.ts'
import { Piped, type Inputs } from '../../views/chat/piped.ts'
import { ChatSession, type Meaning } from '../../views/chat/session.ts'
import { describeLeftInQueue } from '../../views/describe-task.ts'
import type { View } from '../../views/view.ts'
import { Terminal } from '../../views/terminal.ts'
import { renderError } from '../program.ts'
import { runInTerminal } from '../run-in-terminal.ts'
import { findMistyped, readChatCommand, withoutSlash } from './commands.ts'

export async function talkOnTerminal(ready: ReadyRun): Promise<number> {
  const { plan } = ready
  const stop = new StopSwitch()
  const history = new HistoryFile(process.env)
  let chat: Chat | undefined
  const session = new ChatSession({
    hasColour: hasColour(1),
    past: history.read(),
    keep: (text) => history.add(chat?.ports.mask?.(text) ?? text),
    understand: (text) =>
      understand(text, plan, {
        chat: () => chat!,
        show: (lines) => session.print(lines),
        onMistyped: (mistyped) => {
          throw notSent(mistyped)
        },
      }),
    stop: (signal) => stop.press(signal),
  })
  for (const signal of CAUGHT_SIGNALS)
    process.on(signal, () => (signal === 'SIGINT' ? session.interrupt() : stop.receive(signal)))
  const begin = (begun: Chat): Person => {
    chat = begun
    session.enter(firstLines(ready))
    return session
  }
  const view = { show: (event) => session.show(event), output: () => undefined } satisfies View
  try {
    return await runShown(ready, stop, view, begin)
  } finally {
    await session.close()
    if (chat !== undefined) printEnd(chat)
  }
}

/** A script, or a user without a terminal. */
export async function talkThroughPipes(
  ready: ReadyRun,
  inputs: Inputs,
  json: boolean,
): Promise<number> {
  const { plan } = ready
  const stop = new StopSwitch()
  const screen = json ? undefined : openScreen(stop)
  let chat: Chat | undefined
  // With --json, stdout contains only events.
  const print = (line: string) => (screen === undefined ? console.error(line) : screen.line(line))
  const piped = new Piped({
    inputs,
    screen,
    isLive: isTerminal(1),
    understand: (text) =>
      understand(text, plan, {
        chat: () => chat!,
        show: (lines) => lines.forEach(print),
        onMistyped: (mistyped) => (screen ?? console).warn(`[forkhestra] ${sentAsText(mistyped)}`),
      }),
    report: (error) => {
      if (screen !== undefined) screen.warn(renderError('[forkhestra] Error', error))
      else chat?.ports.emit({ type: 'warning', text: errorWithHint(error) })
    },
  })
  const begin = (begun: Chat): Person => {
    chat = begun
    return piped
  }
  if (screen === undefined)
    return runInTerminal(ready, { verbose: false, json: true, work: workOf(begin) })
  const view = { show: (event) => piped.show(event), output: () => undefined } satisfies View
  const code = await runShown(ready, stop, view, begin)
  await screen.close(stop)
  return code
}

/** Sends one message; a mistake in it is refused before there is a record. */
export async function sendOne(ready: ReadyRun, text: string, json: boolean): Promise<number> {
  const isMessage = !isRaw(ready.plan) && readChatCommand(text) === undefined
  if (isMessage) await checkMessage(ready, withoutSlash(text))
  const inputs = async function* () {
    yield text
  }
  return talkThroughPipes(ready, inputs(), json)
}

interface Listener {
  readonly chat: () => Chat
  readonly show: (lines: readonly string[]) => void
  /** Called with a word that is probably a misspelt command. */
  readonly onMistyped: (mistyped: Mistyped) => void
}

type Mistyped = NonNullable<ReturnType<typeof findMistyped>>

function understand(text: string, plan: Plan, { chat, show, onMistyped }: Listener): Meaning {
  if (isRaw(plan)) return { say: text }
  const mistyped = findMistyped(text)
  if (mistyped !== undefined) onMistyped(mistyped)
  const command = readChatCommand(text)
  if (command === undefined) return { say: withoutSlash(text) }
  return command === 'quit' ? 'quit' : { run: (signal) => command(chat(), signal, show) }
}

function isRaw({ root }: Plan): boolean {
  return stepsOf(root).some(({ rawPrompt }) => rawPrompt)
}

/** On a terminal a misspelt command is not sent, because a turn costs money. */
function notSent({ word, meant }: Mistyped): UserError {
  return new UserError(
    `'${word}' is not a command${meant === undefined ? '' : ` (did you mean '${meant}'?)`}`,
    `Nothing was sent. To send it as text: /${word}. Commands: /help`,
  )
}

function sentAsText({ word, meant }: Mistyped): string {
  const guess = meant === undefined ? '' : ` (did you mean '${meant}'?)`
  return `'${word}' is not a command and is sent as text${guess}`
}

const MOST_LINES = 40

/** Agent and model, and the last exchange of a resumed chat. */
function firstLines({ plan, session: { resumed, env } }: ReadyRun): string[] {
  const { agent } = stepsOf(plan.root)[0]!
  const model = 'model' in agent ? agent.model : ''
  const head = [`${agent.name}, ${model}, chat ${plan.run}`, 'Type /help for help.']
  if (resumed === undefined) return [...head, '']
  const last = lastExchange({ path: chatPath(resumed.folder), env })
  return [...head, ...lastLines(last.person, '> '), ...lastLines(last.agent, ''), '']
}

function lastLines(text: string | undefined, mark: string): string[] {
  if (text === undefined || text === '') return []
  const lines = printableLines(text).split('\n')
  const cut = lines.length > MOST_LINES ? ['…', ...lines.slice(-MOST_LINES)] : lines
  return cut.map((line, index) => (index === 0 ? mark + line : line))
}

/** What is left in the queue, and how to continue the chat. */
function printEnd({ run, ports }: Chat): void {
  const { ended } = ports.state()
  const command = (words: string) => `forkhestra ${words} --run ${run}`
  for (const line of describeLeftInQueue(ended?.queue, command))
    console.error(`[forkhestra] ${line}`)
  console.error(`[forkhestra] To continue: forkhestra chat --resume ${run}`)
}

function openScreen(stop: StopSwitch): Terminal {
  const screen = new Terminal({
    env: process.env,
    makeQuoter: quoterInside(process.env),
    uncut: true,
    onLost: (error) => screen.warn(`[forkhestra] Output is lost: ${errorText(error)}`),
    onClosed: (error) => {
      // The user closed the reader, so reporting it is pointless.
      if (errorCode(error) !== 'EPIPE')
        screen.warn(`[forkhestra] Error: the answer cannot be written: ${errorText(error)}`)
      stop.stopOnce('interrupted by a closed stdout')
    },
  })
  stop.listen(() => undefined)
  return screen
}

type Begin = (chat: Chat) => Person

async function runShown(
  ready: ReadyRun,
  { stop, force }: StopSwitch,
  view: View,
  begin: Begin,
): Promise<number> {
  const { ended } = await runSession(ready, {
    ...ready.session,
    stop,
    force,
    ownsProcess: true,
    view: () => view,
    work: workOf(begin),
  })
  return ended?.exitCode ?? 1
}

function workOf(begin: Begin) {
  return (plan: Plan, ports: Ports, why = '') => {
    if (ports.record !== undefined) return runChat(plan, ports, begin)
    const root = recordRoot(plan.cwd, process.env)
    const words = `A chat needs a run record, and none can be written: ${why}.`
    if (root !== undefined)
      throw new NotNow(words, `Make sure that ${root} is writable and has free space, and retry.`)
    throw new UserError(words, 'Create the folder forge/ in the project, or set HOME.')
  }
}
