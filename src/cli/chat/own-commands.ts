import { UserError } from '../../base/errors.ts'
import type { OwnCommand } from '../../views/chat/commands.ts'
import { CHAT_HELP } from '../../views/chat/help.ts'
import type { Delivery } from '../../queue/client.ts'
import type { Chat } from '../../run/chain/run-chat.ts'
import type { QueueSession } from '../../queue/tools/provider.ts'
import { formatSpent } from '../../views/amounts.ts'
import { NOTHING_TO_WAIT_FOR } from '../queue/explain.ts'
import { countsLine, inboxLines, renderTasks } from '../queue/show.ts'
import { messageText } from '../queue/messages.ts'

/** What a command of the person's own says, and messages that are gone once they are shown. */
interface OwnAnswer {
  readonly lines: readonly string[]
  readonly delivery?: Delivery
}

type Show = (lines: readonly string[]) => void

/** Does what a person asks of forkhestra itself, in the name of `main`. */
export async function runChatCommand(
  command: Exclude<OwnCommand, { name: 'quit' }>,
  { queue, ports }: Chat,
  signal: AbortSignal,
  show: Show,
): Promise<void> {
  if (command.name === 'help') return show(CHAT_HELP)
  if (command.name === 'cost') return show([formatSpent(ports.state().spent)])
  if (queue === undefined) throw new UserError('Queues need a run record, and this chat has none.')
  const none = () => show([NONE[command.name] ?? noAgents()])
  await queue.use(
    'existing',
    async (seat) => {
      const { lines, delivery } = await answer(command, seat, signal)
      show((ports.mask?.(lines) ?? lines).flatMap((line) => line.split('\n')))
      await delivery?.acknowledge()
    },
    none,
  )
}

type QueueCommand = Exclude<OwnCommand, { name: 'quit' | 'help' | 'cost' }>

const EMPTY = 'The inbox is empty.'

/** Answers if nothing has been queued. */
const NONE: Readonly<Record<string, string>> = {
  queue: 'The queue is empty.',
  inbox: EMPTY,
  check: EMPTY,
  receive: NOTHING_TO_WAIT_FOR,
}

function noAgents(): never {
  throw new UserError('No agent of this chat has queued anything.', 'See: /queue')
}

async function answer(
  command: QueueCommand,
  seat: QueueSession,
  signal: AbortSignal,
): Promise<OwnAnswer> {
  const { client } = seat
  switch (command.name) {
    case 'queue': {
      const { tasks, counts } = await client.queue()
      return { lines: [...renderTasks(tasks, false), countsLine(counts)] }
    }
    case 'inbox': {
      const lines = inboxLines(await client.inbox())
      return { lines: lines.length === 0 ? [EMPTY] : lines }
    }
    case 'check': {
      const { from, lifo, max = 100 } = command
      return messageLines(await client.check({ from, lifo, max }), EMPTY)
    }
    case 'receive': {
      const { from, lifo, timeoutMs } = command
      const received = await seat.receive({ from, lifo, timeoutMs }, signal)
      const missing = received.senders
        .filter(({ status }) => status !== 'received')
        .map(({ name, status }) => `${name}: ${status}`)
      const { lines, delivery } = messageLines(received, received.status.replaceAll('_', ' '))
      return { lines: [...lines, ...missing], ...(delivery && { delivery }) }
    }
    case 'send':
      await client.send(command.to, command.message)
      return { lines: [`Sent to ${command.to}.`] }
    case 'cancel': {
      const { ended, told } = await client.cancel(command.task)
      return {
        lines: [
          ...(ended.length === 0 ? [] : [`Ended: ${ended.join(', ')}`]),
          ...(told.length === 0 ? [] : [`Stopping: ${told.join(', ')}`]),
        ],
      }
    }
  }
}

function messageLines(delivery: Delivery, nothing: string): OwnAnswer {
  const { messages } = delivery
  return { lines: messages.length === 0 ? [nothing] : messages.map(messageText), delivery }
}
