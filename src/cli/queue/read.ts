import { dropUndefined } from '../../base/objects.ts'
import { parseTimeout } from '../../base/durations.ts'
import { printable } from '../../base/terminal/printable.ts'
import type { Delivery } from '../../queue/client.ts'
import { messageJson } from '../../queue/message.ts'
import type { Input } from '../command.ts'
import { StopSwitch } from '../../host/stop-switch.ts'
import { print } from '../print.ts'
import { withQueueClient, type OpenQueue } from '../../host/queue/caller.ts'
import { receiveWhileDriven } from '../../host/queue/drive.ts'
import { explain, NOTHING_TO_WAIT_FOR } from './explain.ts'
import { deliver, messageText } from './messages.ts'
import { maskMessages } from '../../host/queue/masked.ts'
import { queueRequest, QueueArguments } from './arguments.ts'

export async function checkInbox(input: Input): Promise<number> {
  const args = new QueueArguments(input, ['from', 'max'])
  args.expectNone()
  const [from, max] = [args.names('from'), args.count('max') ?? 100]
  return withQueueClient(
    queueRequest(input),
    'existing',
    async (opened) => {
      const { client, options } = opened
      const delivery = await client.check({ from, max, lifo: input.flag('lifo') })
      const count = delivery.messages.length
      const more = count < max ? 0 : await client.countUnread(from)
      if (!(await printDelivery(input, opened, delivery, {}, more === 0 ? {} : { more }))) return 1
      if (input.flag('json')) return 0
      if (count === 0) noteEmpty(from)
      if (more > 0) noteMore(more, options)
      return 0
    },
    () => {
      if (input.flag('json')) print(JSON.stringify({ ok: true, messages: [] }))
      else noteEmpty(from)
      return 0
    },
  )
}

function noteMore(more: number, options: string): void {
  const are = more === 1 ? 'is' : 'are'
  console.error(`[forkhestra] ${more} more ${are} in the inbox: forkhestra check${options}`)
}

/** Not on stdout: scripts expect no output if there are no messages. */
function noteEmpty(from: readonly string[] | undefined): void {
  const text =
    from === undefined
      ? 'The inbox is empty.'
      : `No messages from ${from.map(printable).join(', ')}.`
  console.error(`[forkhestra] ${text}`)
}

export async function receiveMessages(input: Input): Promise<number> {
  const args = new QueueArguments(input, ['from', 'timeout'])
  args.expectNone()
  const [from, timeout] = [args.names('from'), args.text('timeout')]
  const timeoutMs = timeout === undefined ? undefined : parseTimeout(timeout)
  const stopSwitch = new StopSwitch()
  stopSwitch.listen(() => undefined)
  return withQueueClient(
    queueRequest(input),
    'existing',
    async (opened) => {
      const query = { from, timeoutMs, lifo: input.flag('lifo') }
      const received = await receiveWhileDriven(opened, query, stopSwitch.stop)
      const { status, senders, deadlock } = received
      const head = dropUndefined({ status, senders, deadlock })
      if (!(await printDelivery(input, opened, received, head))) return 1
      if (!input.flag('json')) await explain(received, opened)
      if (status === 'stopped') return 130
      return status === 'received' ? 0 : 1
    },
    () => {
      const none = { ok: true, status: 'nothing_to_wait_for', senders: [], messages: [] }
      if (input.flag('json')) print(JSON.stringify(none))
      else console.error(`[forkhestra] ${NOTHING_TO_WAIT_FOR}`)
      return 1
    },
  )
}

/** False if the messages could not be delivered. */
async function printDelivery(
  input: Input,
  opened: OpenQueue,
  delivery: Delivery,
  before: object,
  after = {},
): Promise<boolean> {
  const messages = await maskMessages(delivery.messages, opened, process.env)
  const text = input.flag('json')
    ? JSON.stringify({ ok: true, ...before, messages: messages.map(messageJson), ...after })
    : messages.map(messageText).join('\n')
  return deliver(delivery, text)
}
