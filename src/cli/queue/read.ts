import { parseDuration } from '../../base/durations.ts'
import { everRarer } from '../../base/ever-rarer.ts'
import { printable } from '../../base/printable.ts'
import type { Delivery } from '../../queue/desk.ts'
import type { InboxLine } from '../../queue/message.ts'
import { messageJson } from '../../queue/message-json.ts'
import type { Received, ReceiveQuery } from '../../queue/receive.ts'
import type { Input } from '../command.ts'
import { StopSwitch } from '../signals.ts'
import { print } from '../tasks/print.ts'
import { isDriven, withDesk, type Opened } from './caller.ts'
import { explain, NOTHING } from './explain.ts'
import { handOver, messageText } from './messages.ts'
import { shownMessages } from './shown.ts'
import { Words } from './words.ts'

/** How often one who waits looks whether anybody works at the queue at all. */
const LOOK_MS = { first: 2000, longest: 60_000 }

/** The verb `check`: what is there, without waiting. */
export async function checkInbox(input: Input): Promise<number> {
  const words = new Words(input, ['from', 'max'])
  words.none()
  const [from, max] = [words.names('from'), words.whole('max') ?? 100]
  return withDesk(
    input,
    'looks',
    async (opened) => {
      const { desk, options } = opened
      const delivery = await desk.check({ from, max, lifo: input.flag('lifo') })
      const count = delivery.messages.length
      const more = count < max ? 0 : countFree(await desk.inbox(), from)
      if (!(await tell(input, opened, delivery, {}, more === 0 ? {} : { more }))) return 1
      if (input.flag('json')) return 0
      if (count === 0) tellEmpty(from)
      if (more > 0) tellMore(more, options)
      return 0
    },
    () => {
      if (input.flag('json')) print(JSON.stringify({ ok: true, messages: [] }))
      else tellEmpty(from)
      return 0
    },
  )
}

/** How many messages nobody has in hand. */
function countFree(lines: readonly InboxLine[], from: readonly string[] | undefined): number {
  const isWanted = ({ isLeased, from: name, to }: InboxLine) =>
    !isLeased && (from === undefined || (to === undefined && from.includes(name)))
  return lines.filter(isWanted).length
}

function tellMore(more: number, options: string): void {
  const are = more === 1 ? 'is' : 'are'
  console.error(`[forkhestra] ${more} more ${are} in the inbox: forkhestra check${options}`)
}

/** Not on stdout, where an empty answer is one that scripts understand. */
function tellEmpty(from: readonly string[] | undefined): void {
  const words =
    from === undefined
      ? 'The inbox is empty.'
      : `The inbox has no message of ${from.map(printable).join(', ')}.`
  console.error(`[forkhestra] ${words}`)
}

/** The verb `receive`: waits for one message, or until each of several has answered. */
export async function receiveMessages(input: Input): Promise<number> {
  const words = new Words(input, ['from', 'timeout'])
  words.none()
  const [from, timeout] = [words.names('from'), words.text('timeout')]
  const timeoutMs = timeout === undefined ? undefined : readTimeout(timeout)
  const stopSwitch = new StopSwitch()
  stopSwitch.listen(() => undefined)
  return withDesk(
    input,
    'looks',
    async (opened) => {
      const query = { from, timeoutMs, lifo: input.flag('lifo') }
      const received = await receiveWhileDriven(opened, query, stopSwitch.stop)
      const { status, senders, deadlock } = received
      const circle = deadlock === undefined ? {} : { deadlock }
      if (!(await tell(input, opened, received, { status, senders, ...circle }))) return 1
      if (!input.flag('json')) await explain(received, opened)
      if (status === 'stopped') return 130
      return status === 'received' ? 0 : 1
    },
    () => {
      const none = { ok: true, status: 'nothing_to_wait_for', senders: [], messages: [] }
      if (input.flag('json')) print(JSON.stringify(none))
      else console.error(`[forkhestra] ${NOTHING}`)
      return 1
    },
  )
}

/** Where no process works at the queue, nobody will ever answer: what is there is all there is. */
export async function receiveWhileDriven(
  opened: Opened,
  query: ReceiveQuery,
  stop: AbortSignal,
  isWorkedAt: () => boolean = () => isDriven(opened),
): Promise<Received & Delivery> {
  const alone = new AbortController()
  const look = () => {
    if (!isWorkedAt()) alone.abort()
  }
  look()
  const stopLooking = everRarer(look, LOOK_MS.first, LOOK_MS.longest)
  try {
    const received = await opened.desk.receive(query, AbortSignal.any([stop, alone.signal]))
    const isAlone = received.status === 'stopped' && !stop.aborted
    return isAlone ? { ...received, status: 'nothing_to_wait_for' } : received
  } finally {
    stopLooking()
  }
}

/** False where nobody reads it. */
async function tell(
  input: Input,
  opened: Opened,
  delivery: Delivery,
  before: object,
  behind = {},
): Promise<boolean> {
  const messages = await shownMessages(delivery.messages, opened)
  const text = input.flag('json')
    ? JSON.stringify({
        ok: true,
        ...before,
        messages: messages.map((message) => messageJson(message)),
        ...behind,
      })
    : messages.map(messageText).join('\n')
  return handOver(delivery, text)
}

/** A number alone is seconds. */
function readTimeout(text: string): number {
  return parseDuration(/^\d+(?:\.\d+)?$/.test(text) ? `${text}s` : text, 'timeout')
}
