import { quoterInside } from '../../engines/marker/line-quoter.ts'
import { asUserError, errorCode, errorText, errorWithHint, UserError } from '../../base/errors.ts'
import { isTerminal } from '../../base/terminal/is-terminal.ts'
import { findMiss, readOwnCommand, withoutSlash } from '../../views/chat/commands.ts'
import {
  appendToHistory,
  historyPath,
  readInputHistory,
} from '../../views/chat/input-history-file.ts'
import { Piped, type Turns } from '../../views/chat/piped.ts'
import { ChatSession } from '../../views/chat/session.ts'
import { recordRoot } from '../../records/journal/record-folder.ts'
import { stepsOf, type Plan } from '../../chain/plan/plan.ts'
import type { Ports, StopSignal } from '../../run/chain/ports.ts'
import type { Person } from '../../run/chain/chat-turns.ts'
import { runChat, type Chat } from '../../run/chain/run-chat.ts'
import { describeLeftInQueue } from '../../views/describe-task.ts'
import { Terminal } from '../../views/terminal.ts'
import { runSession, type ReadyRun } from '../../host/run-session.ts'
import type { View } from '../../views/screen.ts'
import { runInTerminal } from '../run-in-terminal.ts'
import { renderError } from '../render-error.ts'
import { StopSwitch } from '../../host/stop-switch.ts'
import { before } from './before.ts'
import { ChatNotKept } from '../../host/chat/open-chat.ts'
import { runChatCommand } from './own-commands.ts'

/** A person at a terminal. */
export async function talkOnTerminal(chat: ReadyRun): Promise<number> {
  const { plan } = chat
  const stop = new StopSwitch()
  const path = historyPath(process.env)
  let room: Chat | undefined
  const session = new ChatSession({
    hasColour: !process.env['NO_COLOR'],
    past: readInputHistory(path),
    keep: (text) => appendToHistory(path, room?.ports.mask?.(text) ?? text),
    command: (text) => {
      if (isRaw(plan)) return undefined
      const miss = findMiss(text)
      if (miss !== undefined) return () => Promise.reject(notSent(miss))
      let why: UserError | undefined
      const command = readOwn(text, (error) => (why = error))
      if (command === undefined) return undefined
      if (command === 'refused') return () => Promise.reject(why!)
      if (command.name === 'quit') return 'quit'
      return (signal) => runChatCommand(command, room!, signal, (lines) => session.print(lines))
    },
    stop: (signal) => stop.press(signal),
  })
  listen(session, stop)
  const meet = (met: Chat): Person => {
    room = met
    session.enter(before(plan, chat.session.resumed?.folder, chat.session.env))
    return personOf(session, isRaw(plan))
  }
  const view = { show: (event) => session.show(event), output: () => undefined } satisfies View
  try {
    return await carry(chat, { shown: { stop, view }, meet })
  } finally {
    await session.close()
    if (room !== undefined) tellEnd(room)
  }
}

type Miss = NonNullable<ReturnType<typeof findMiss>>

/** On a terminal a mistyped command is not sent, because a turn costs money. */
function notSent({ word, meant }: Miss): UserError {
  return new UserError(
    `'${word}' is not a command${meant === undefined ? '' : `, did you mean '${meant}'?`}`,
    `Nothing was sent. To send it as text: /${word}. Commands: /help`,
  )
}

function sentAsText({ word, meant }: Miss): string {
  const guess = meant === undefined ? '' : `; did you mean '${meant}'?`
  return `'${word}' is not a command and is sent as text${guess}`
}

/** Then all that is typed is to be said. */
function isRaw(plan: Plan): boolean {
  return stepsOf(plan.root).some(({ rawPrompt }) => rawPrompt)
}

function personOf(session: ChatSession, isAsTyped: boolean): Person {
  return {
    next: async (stop) => {
      const text = await session.next(stop)
      return text === undefined || isAsTyped ? text : withoutSlash(text)
    },
    turnBegins: () => session.turnBegins(),
    hear: (piece) => session.hear(piece),
    restartAnswer: () => session.endAnswer(),
    turnEnds: () => session.turnEnds(),
    refused: (error) => session.refused(error),
    leaves: () => session.leaves(),
    hasFailed: () => false,
  }
}

/** A signal from outside; Ctrl-C is a key. */
function listen(session: ChatSession, stop: StopSwitch): void {
  process.on('SIGINT', () => session.interrupt())
  for (const signal of ['SIGTERM', 'SIGQUIT', 'SIGHUP'] satisfies StopSignal[])
    process.on(signal, () => stop.press(signal))
}

/** What is left in the queue, and how to continue the chat. */
function tellEnd({ run, ports }: Chat): void {
  const { ended } = ports.state()
  const command = (words: string) => `forkhestra ${words} --run ${run}`
  for (const line of describeLeftInQueue(ended?.queue, command))
    console.error(`[forkhestra] ${line}`)
  console.error(`[forkhestra] To continue: forkhestra chat --resume ${run}`)
}

/** A script, or a person without a terminal. */
export async function talkThroughPipes(
  chat: ReadyRun,
  sayings: Turns,
  json: boolean,
): Promise<number> {
  const { plan } = chat
  const stop = new StopSwitch()
  const screen = json ? undefined : openScreen(stop)
  let room: Chat | undefined
  const doIfOwn = async (text: string) => {
    if (isRaw(plan)) return { say: text }
    const command = readOwn(text, (error) => piped.refused(error))
    const miss = findMiss(text)
    if (miss !== undefined) (screen ?? console).warn(`[forkhestra] ${sentAsText(miss)}`)
    if (command === undefined) return { say: withoutSlash(text) }
    if (command === 'refused') return 'done'
    if (command.name === 'quit') return 'quit'
    // With --json, stdout has events only.
    const print = (line: string) => (screen === undefined ? console.error(line) : screen.line(line))
    const show = (lines: readonly string[]) => lines.forEach(print)
    await runChatCommand(command, room!, stop.stop, show).catch((error: unknown) => {
      piped.refused(asUserError(error))
    })
    return 'done'
  }
  const tell = (error: UserError) => {
    const words = renderError('[forkhestra] Error', error)
    if (screen === undefined) room?.ports.emit({ type: 'warning', text: errorWithHint(error) })
    else screen.warn(words)
  }
  const piped: Piped = new Piped(sayings, screen, doIfOwn, tell, isTerminal(1))
  const meet = (met: Chat): Person => {
    room = met
    return piped
  }
  const view = { show: piped.show.bind(piped), output: () => undefined }
  const code = await carry(chat, { ...(json ? {} : { shown: { stop, view } }), meet })
  await screen?.close(stop)
  return code
}

function openScreen(stop: StopSwitch): Terminal {
  const screen = new Terminal({
    env: process.env,
    makeQuoter: quoterInside(process.env),
    uncut: true,
    onLost: (error) => screen.warn(`[forkhestra] Output is lost: ${errorText(error)}`),
    onClosed: (error) => {
      // The user closed the reader, so there is no need to report it.
      if (errorCode(error) !== 'EPIPE')
        screen.warn(`[forkhestra] Error: the answer cannot be written: ${errorText(error)}`)
      stop.outputClosed('interrupted by a closed stdout')
    },
  })
  stop.listen(() => undefined)
  return screen
}

function readOwn(text: string, refuse: (error: UserError) => void) {
  try {
    return readOwnCommand(text)
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    refuse(error)
    return 'refused'
  }
}

/** A view of its own, and what stops it; without, a script sees the events. */
interface Around {
  readonly shown?: { readonly stop: StopSwitch; readonly view: View }
  readonly meet: (room: Chat) => Person
}

function noRecord({ cwd }: Plan, why = ''): UserError {
  const root = recordRoot(cwd, process.env)
  const words = `A chat needs a run record, and none can be written: ${why}.`
  if (root !== undefined) return new ChatNotKept(words, root)
  return new UserError(words, 'Create the folder forge/ in the project, or set HOME.')
}

async function carry(chat: ReadyRun, { shown, meet }: Around): Promise<number> {
  const work = (of: Plan, ports: Ports, why?: string) => {
    if (ports.record !== undefined) return runChat(of, ports, meet)
    throw noRecord(of, why)
  }
  if (shown === undefined) return runInTerminal(chat, { verbose: false, json: true, work })
  const { stop, force } = shown.stop
  const { ended } = await runSession(chat, {
    ...chat.session,
    stop,
    force,
    ownsProcess: true,
    view: () => shown.view,
    work,
  })
  return ended?.exitCode ?? 1
}
