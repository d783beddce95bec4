import { parseTimeout } from '../../base/durations.ts'
import { UserError } from '../../base/errors.ts'
import { nearest } from '../../base/nearest.ts'
import { readWhole } from '../../base/numbers.ts'
import { CommandLine, type Value } from '../../chain/parse/prompt/command-line.ts'
import type { Delivery } from '../../queue/client.ts'
import type { QueueSession } from '../../queue/tools/provider.ts'
import type { Chat } from '../../run/chain/run-chat.ts'
import { formatSpent } from '../../views/amounts.ts'
import { NOTHING_TO_WAIT_FOR } from '../queue/explain.ts'
import { messageText } from '../queue/messages.ts'
import { countsLine, inboxLines, renderQueue } from '../queue/show.ts'

const CHAT_HELP: readonly string[] = [
  'Enter sends the message. For a new line: Alt-Enter, or \\ at its end.',
  'Up and Down recall earlier messages.',
  'Ctrl-C stops the turn; twice at an empty prompt, it quits.',
  '',
  'At the beginning of a message:',
  '  /read FILE                      include the file, as if the agent had read it',
  '  /push [name=N] … "PROMPT"       queue a task; at the end: after the answer',
  '  /run [N]   /run parallel=N      start the queued tasks',
  '',
  'On their own:',
  '  /queue  /inbox                  show the tasks; show the senders of messages',
  '  /check [from=a,b] [max=N]       read the messages in the inbox',
  '  /receive [from=a,b] [timeout=S] wait for messages',
  '  /send AGENT MESSAGE             send a message to a sub-agent',
  '  /cancel TASK                    cancel a task and its descendants',
  '  /cost   /help   /quit (or /exit)',
  '',
  'To send a command as text, double the slash: //read',
]

type Show = (lines: readonly string[]) => void

/** A chat command with its arguments. It acts on the queue as `main`. */
export type ChatCommand = (chat: Chat, signal: AbortSignal, show: Show) => Promise<void>

const EMPTY = 'The inbox is empty.'
const MANY = { least: 1, most: 1_000_000 }

/** Commands for forkhestra itself; prompt commands are part of a message. */
const COMMANDS: Readonly<Record<string, (line: CommandLine, word: Value) => ChatCommand>> = {
  help: bare(async (_, __, show) => show(CHAT_HELP)),
  cost: bare(async ({ ports }, _, show) => show([formatSpent(ports.state().spent)])),
  queue: bare(
    onQueue('The queue is empty.', async ({ client }) => {
      const { tasks, counts } = await client.queue()
      return { lines: [...renderQueue(tasks, false), countsLine(counts)] }
    }),
  ),
  inbox: bare(
    onQueue(EMPTY, async ({ client }) => {
      const lines = inboxLines(await client.inbox())
      return { lines: lines.length === 0 ? [EMPTY] : lines }
    }),
  ),
  check: (line) => {
    const options = takeOptions(line, ['from', 'max', 'lifo'])
    const from = namesOf(line, options.from)
    const max = options.max
      ? line.read(options.max, (value) => readWhole('max', value, MANY, 'For example: max=5'))
      : 100
    const lifo = options.lifo !== undefined
    return onQueue(EMPTY, async ({ client }) =>
      messageLines(await client.check({ from, lifo, max }), EMPTY),
    )
  },
  receive: (line) => {
    const options = takeOptions(line, ['from', 'timeout', 'lifo'])
    const from = namesOf(line, options.from)
    const timeoutMs = options.timeout && line.read(options.timeout, parseTimeout)
    const lifo = options.lifo !== undefined
    return onQueue(NOTHING_TO_WAIT_FOR, async (session, signal) => {
      const received = await session.receive({ from, lifo, timeoutMs }, signal)
      const missing = received.senders
        .filter(({ status }) => status !== 'received')
        .map(({ name, status }) => `${name}: ${status}`)
      const { lines, delivery } = messageLines(received, received.status.replaceAll('_', ' '))
      return { lines: [...lines, ...missing], delivery }
    })
  },
  send: (line, word) => {
    const to = needed(line, line.isAtEnd ? undefined : line.takeWord(), word, 'name of an agent')
    const message = needed(line, line.takeRest(), word, 'message')
    return onQueue(undefined, async ({ client }) => {
      await client.send(to, message)
      return { lines: [`Sent to ${to}.`] }
    })
  },
  cancel: (line, word) => {
    const task = needed(line, line.takeRest(), word, 'name of a task')
    return onQueue(undefined, async ({ client }) => {
      const { ended, told } = await client.cancel(task)
      return {
        lines: [
          ...(ended.length === 0 ? [] : [`Ended: ${ended.join(', ')}`]),
          ...(told.length === 0 ? [] : [`Stopping: ${told.join(', ')}`]),
        ],
      }
    })
  },
}

/** What other programs use to quit: it should not cost a turn. */
const QUIT = /^(?:\/(?:quit|exit|bye|q)|exit|quit|:q)$/i
/** Prompt commands lose their slash when the prompt is parsed. */
const LITERAL =
  /^\/(?=\/(?!(?:read|push|run|queue|inbox|check|receive|send|cancel)(?:\s|$))[A-Za-z]+(?:\s|$))/

/** Undefined if the text is a message. Refuses a command with wrong arguments. */
export function readChatCommand(text: string): ChatCommand | 'quit' | undefined {
  const typed = text.trim()
  if (QUIT.test(typed)) return 'quit'
  const [, name = ''] = typed.includes('\n') ? [] : (/^\/([a-z]+)(?=\s|$)/.exec(typed) ?? [])
  const line = new CommandLine('what you typed', 1, typed)
  const word = line.takeWord()
  // With arguments it is refused as a mistake, instead of costing a turn.
  if (QUIT.test(`/${name}`)) takeOptions(line, [])
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name]!(line, word) : undefined
}

const ALL = [...Object.keys(COMMANDS), 'quit', 'read', 'push', 'run']

/** A word that was probably meant as a command: misspelt, or alone. */
export function findMistyped(
  text: string,
): { readonly word: string; readonly meant?: string } | undefined {
  const typed = text.trim()
  const word = /^\/[A-Za-z]+(?=\s|$)/.exec(typed)?.[0]
  const name = word?.slice(1).toLowerCase() ?? ''
  if (word === undefined || ALL.includes(name) || QUIT.test(typed)) return undefined
  const meant = nearest(name, ALL)
  if (meant !== undefined) return { word, meant: `/${meant}` }
  return typed === word ? { word } : undefined
}

/** A message that begins with two slashes to send a command as text. */
export function withoutSlash(text: string): string {
  return text.replace(LITERAL, '')
}

/** The text to show, and the messages in it, which are then removed from the inbox. */
interface Answer {
  readonly lines: readonly string[]
  readonly delivery?: Delivery | undefined
}

/** `nothing` is the answer if nothing was ever queued; if absent, the command is refused. */
function onQueue(
  nothing: string | undefined,
  work: (session: QueueSession, signal: AbortSignal) => Promise<Answer>,
): ChatCommand {
  return async ({ queue, ports }, signal, show) => {
    if (queue === undefined)
      throw new UserError('Queues need a run record, and this chat has none.')
    await queue.use(
      'existing',
      async (session) => {
        const { lines, delivery } = await work(session, signal)
        show((ports.mask?.(lines) ?? lines).flatMap((line) => line.split('\n')))
        await delivery?.acknowledge()
      },
      () => {
        if (nothing === undefined)
          throw new UserError('No agent of this chat has queued anything.', 'See: /queue')
        show([nothing])
      },
    )
  }
}

function messageLines(delivery: Delivery, nothing: string): Answer {
  const { messages } = delivery
  return { lines: messages.length === 0 ? [nothing] : messages.map(messageText), delivery }
}

const HELP = 'See /help.'

function bare(command: ChatCommand): (line: CommandLine) => ChatCommand {
  return (line) => {
    takeOptions(line, [])
    return command
  }
}

function takeOptions<Name extends string>(
  line: CommandLine,
  names: readonly Name[],
): Partial<Record<Name, Value>> {
  const found: Partial<Record<string, Value>> = {}
  for (let name = line.takeOptionName(); name !== undefined; name = line.takeOptionName()) {
    const known = names.find((each) => each === name.text.replace(/^--/, ''))
    if (known === undefined) throw line.refuse(name, `Unknown option '${name.text}'.`, HELP)
    found[known] = known === 'lifo' ? name : line.takeOptionValue(name)
  }
  const rest = line.takeRest()
  if (rest !== undefined) throw line.refuse(rest, 'Too many arguments.', HELP)
  return found
}

function needed(line: CommandLine, value: Value | undefined, word: Value, what: string): string {
  if (value === undefined || value.text === '')
    throw line.refuse(word, `The ${what} is missing.`, HELP)
  return value.text
}

function namesOf(line: CommandLine, value: Value | undefined): string[] | undefined {
  if (value === undefined) return undefined
  const from = value.text.split(',').filter((name) => name !== '')
  if (from.length > 0) return from
  throw line.refuse(value, 'from is empty.', 'Leave it out to accept messages from anyone.')
}
