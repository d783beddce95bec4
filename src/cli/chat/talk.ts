import { isatty } from 'node:tty'
import { asTrouble, errorCode, errorText, errorWithHint, UserError } from '../../base/errors.ts'
import { findMiss, readOwnCommand, withoutSlash } from '../../chat/commands.ts'
import { keepInPast, pastPath, readPast } from '../../chat/past-file.ts'
import { Piped, type Sayings } from '../../chat/piped.ts'
import { Session } from '../../chat/session.ts'
import { recordRoot } from '../../journal/record-folder.ts'
import { stepsOf, type Plan } from '../../plan/plan.ts'
import type { Ports, StopSignal } from '../../run/ports.ts'
import { runChat, type ChatRoom, type Person } from '../../run/run-chat.ts'
import { leftWords } from '../../views/task-words.ts'
import { Terminal } from '../../views/terminal.ts'
import { carryOut } from '../carry-out.ts'
import { renderError } from '../render-error.ts'
import { StopSwitch } from '../signals.ts'
import { before } from './before.ts'
import { ChatNotKept, type Chat } from './open-chat.ts'
import { doOwnCommand } from './own-commands.ts'

/** A person at a terminal. */
export async function talkOnTerminal({ plan, warnings, options }: Chat): Promise<number> {
  const stop = new StopSwitch()
  const path = pastPath(process.env)
  let room: ChatRoom | undefined
  const session = new Session({
    hasColour: !process.env['NO_COLOR'],
    past: readPast(path),
    keep: (text) => keepInPast(path, room?.ports.mask?.(text) ?? text),
    command: (text) => {
      if (isRaw(plan)) return undefined
      const miss = findMiss(text)
      if (miss !== undefined) return () => Promise.reject(notSent(miss))
      let why: UserError | undefined
      const command = readOwn(text, (error) => (why = error))
      if (command === undefined) return undefined
      if (command === 'refused') return () => Promise.reject(why!)
      if (command.name === 'quit') return 'quit'
      return (signal) => doOwnCommand(command, room!, signal, (lines) => session.print(lines))
    },
    stop: (signal) => stop.press(signal),
  })
  listen(session, stop)
  const meet = (met: ChatRoom): Person => {
    room = met
    session.enter(before(plan, options.resumed?.folder, options.env))
    return personOf(session, isRaw(plan))
  }
  const view = { show: (event) => session.show(event), output: () => undefined } satisfies Shown
  try {
    return await carry({ plan, warnings, options }, { stop, view, meet })
  } finally {
    await session.close()
    if (room !== undefined) tellEnd(room)
  }
}

type Miss = NonNullable<ReturnType<typeof findMiss>>

/** A turn costs money, and somebody is there who can type it again. */
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

type Shown = Parameters<typeof carryOut>[2]['view']

/** Then all that is typed is to be said. */
function isRaw(plan: Plan): boolean {
  return stepsOf(plan.root).some(({ rawPrompt }) => rawPrompt)
}

function personOf(session: Session, isAsTyped: boolean): Person {
  return {
    next: async (stop) => {
      const text = await session.next(stop)
      return text === undefined || isAsTyped ? text : withoutSlash(text)
    },
    turnBegins: () => session.turnBegins(),
    hear: (piece) => session.hear(piece),
    hearAnew: () => session.endAnswer(),
    turnEnds: () => session.turnEnds(),
    refused: (error) => session.refused(error),
    leaves: () => session.leaves(),
    hasFailed: () => false,
  }
}

/** A signal from outside; Ctrl-C is a key. */
function listen(session: Session, stop: StopSwitch): void {
  process.on('SIGINT', () => session.interrupt())
  for (const signal of ['SIGTERM', 'SIGQUIT', 'SIGHUP'] satisfies StopSignal[])
    process.on(signal, () => stop.press(signal))
}

/** What a person may want to know who comes back to his shell. */
function tellEnd({ run, ports }: ChatRoom): void {
  const { ended } = ports.state()
  const command = (words: string) => `forkhestra ${words} --run ${run}`
  for (const line of leftWords(ended?.queue, command)) console.error(`[forkhestra] ${line}`)
  console.error(`[forkhestra] To go on: forkhestra chat --resume ${run}`)
}

/** A script, or a person without a terminal. */
export async function talkThroughPipes(
  { plan, warnings, options }: Chat,
  sayings: Sayings,
  json: boolean,
): Promise<number> {
  const stop = new StopSwitch()
  const screen = json ? undefined : openScreen(stop)
  let room: ChatRoom | undefined
  const doIfOwn = async (text: string) => {
    if (isRaw(plan)) return { say: text }
    const command = readOwn(text, (error) => piped.refused(error))
    const miss = findMiss(text)
    if (miss !== undefined) (screen ?? console).warn(`[forkhestra] ${sentAsText(miss)}`)
    if (command === undefined) return { say: withoutSlash(text) }
    if (command === 'refused') return 'done'
    if (command.name === 'quit') return 'quit'
    // Among events there is no place for it.
    const print = (line: string) => (screen === undefined ? console.error(line) : screen.line(line))
    const show = (lines: readonly string[]) => lines.forEach(print)
    await doOwnCommand(command, room!, stop.stop, show).catch((error: unknown) => {
      piped.refused(asTrouble(error))
    })
    return 'done'
  }
  const tell = (error: UserError) => {
    const words = renderError('[forkhestra] Error', error)
    if (screen === undefined) room?.ports.emit({ type: 'warning', text: errorWithHint(error) })
    else screen.warn(words)
  }
  const piped: Piped = new Piped(sayings, screen, doIfOwn, tell, isatty(1))
  const meet = (met: ChatRoom): Person => {
    room = met
    return piped
  }
  const shown = json
    ? {}
    : { stop, view: { show: piped.show.bind(piped), output: () => undefined } }
  const code = await carry({ plan, warnings, options }, { ...shown, json, meet })
  await screen?.close(stop)
  return code
}

function openScreen(stop: StopSwitch): Terminal {
  const screen = new Terminal({
    env: process.env,
    uncut: true,
    onLost: (error) => screen.warn(`[forkhestra] Output is lost: ${errorText(error)}`),
    onClosed: (error) => {
      // A reader that has gone is no news to the person who closed it.
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

interface Around {
  readonly stop?: StopSwitch
  readonly view?: Shown
  readonly json?: boolean
  readonly meet: (room: ChatRoom) => Person
}

function noRecord({ cwd }: Plan, why = ''): UserError {
  const root = recordRoot(cwd, process.env)
  const words = `A chat is kept in a record, and none can be written: ${why}.`
  if (root !== undefined) return new ChatNotKept(words, root)
  return new UserError(words, 'Make a folder forge/ in the project, or set HOME.')
}

function carry({ plan, warnings, options }: Chat, { stop, view, json = false, meet }: Around) {
  return carryOut(plan, warnings, {
    ...options,
    verbose: false,
    json,
    ...(stop === undefined ? {} : { unseen: stop }),
    ...(view === undefined ? {} : { view }),
    work: (of: Plan, ports: Ports, why?: string) => {
      if (ports.record !== undefined) return runChat(of, ports, meet)
      throw noRecord(of, why)
    },
  })
}
