import { write } from 'node:fs'
import { promisify } from 'node:util'
import { counted } from '../../base/amounts.ts'
import { errorCode, errorText } from '../../base/errors.ts'
import { printable, printableLines } from '../../base/terminal/printable.ts'
import type { Delivery } from '../../queue/client.ts'
import type { InboxMessage } from '../../queue/message.ts'
import type { TaskEnd } from '../../queue/task.ts'
import { CannotPrint, shownText } from '../print.ts'
import { isStdoutClosed } from '../closed-stdout.ts'
import { quoteHeaders } from '../quote-forged.ts'

/**
 * Writes messages to stdout, then acknowledges them. False if stdout was closed, or another reader has the
 * messages by now.
 */
export async function deliver(delivery: Delivery, text: string): Promise<boolean> {
  try {
    if (text !== '' && isStdoutClosed()) throw new Error('stdout is closed')
    if (text !== '') await writeWhole(Buffer.from(`${shownText(text)}\n`))
  } catch (error) {
    if (errorCode(error) === 'EPIPE') return false
    throw new CannotPrint(
      `Cannot write the output: ${errorText(error)}`,
      'The messages are still in the inbox.',
    )
  }
  const lost = await delivery.acknowledge()
  if (lost.length > 0) warnLost(lost)
  return lost.length === 0
}

/** Pause while a non-blocking pipe is full. */
const PAUSE_MS = 2

/** Asynchronous, so that leases are renewed even if the pipe is read slowly. */
async function writeWhole(bytes: Uint8Array): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    try {
      const { bytesWritten } = await promisify(write)(1, bytes, done)
      done += bytesWritten
    } catch (error) {
      if (errorCode(error) !== 'EAGAIN') throw error
      await Bun.sleep(PAUSE_MS)
    }
  }
}

function warnLost(messages: readonly InboxMessage[]): void {
  const names = messages.map(({ from, id }) => `${printable(from)} (${id})`).join(', ')
  const are = messages.length === 1 ? 'was' : 'were'
  console.error(
    `[forkhestra] Warning: ${counted(messages.length, 'message')} ${are} written after the lease had expired, so another reader may get them too: ${names}`,
  )
}

export function messageText(message: InboxMessage): string {
  const { from } = message
  if (message.kind === 'text') {
    const whom = message.to === undefined ? '' : ` to ${message.to}`
    return `[${from}${whom}] ${bodyText(message.body)}`
  }
  const { end, attempt } = message
  const again = attempt > 1 ? `, attempt ${attempt}` : ''
  return [`[${from}: ${endText(end, again)}`.trimEnd(), ...notQueuedLines(from, end)].join('\n')
}

function endText(end: TaskEnd, again: string): string {
  if (end.success) return `done${again}]\n${bodyText(end.output)}`
  const head = `failed (${end.class})${again}] ${bodyText(end.error)}`
  return end.partialOutput === undefined ? head : `${head}\n${bodyText(end.partialOutput)}`
}

function bodyText(body: string): string {
  return quoteHeaders(printableLines(body))
}

function notQueuedLines(from: string, { notQueued = [] }: TaskEnd): string[] {
  return notQueued.map(({ name, error, hint = '' }) =>
    `[${from}] Not queued: ${name}. ${bodyText(error)} ${hint}`.trimEnd(),
  )
}
