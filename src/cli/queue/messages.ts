import { write } from 'node:fs'
import { promisify } from 'node:util'
import { counted } from '../../base/amounts.ts'
import { errorCode, errorText } from '../../base/errors.ts'
import { printable, printableLines } from '../../base/printable.ts'
import type { Delivery } from '../../queue/desk.ts'
import type { Message } from '../../queue/message.ts'
import type { End } from '../../queue/task.ts'
import { CannotPrint } from '../tasks/print.ts'
import { isStdoutClosed } from '../closed-stdout.ts'

/**
 * Hands messages over on stdout; only what was written there is gone from the inbox. False where the
 * reader has gone, or where another has the messages by now.
 */
export async function handOver(delivery: Delivery, text: string): Promise<boolean> {
  try {
    if (text !== '' && isStdoutClosed()) throw new Error('stdout is closed')
    if (text !== '') await writeWhole(Buffer.from(`${text}\n`))
  } catch (error) {
    if (errorCode(error) === 'EPIPE') return false
    throw new CannotPrint(
      `The output cannot be written: ${errorText(error)}`,
      'The messages are still in the inbox.',
    )
  }
  const lost = await delivery.acknowledge()
  if (lost.length > 0) tellLost(lost)
  return lost.length === 0
}

/** Where the pipe does not block and is full. */
const PAUSE_MS = 2

/** However slowly it is read: meanwhile the messages are kept, which a write that blocks us would not let. */
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

function tellLost(messages: readonly Message[]): void {
  const names = messages.map(({ from, id }) => `${printable(from)} (${id})`).join(', ')
  const are = messages.length === 1 ? 'was' : 'were'
  console.error(
    `[forkhestra] Warning: ${counted(messages.length, 'message')} ${are} no longer ours when written, and another reader gets or has them: ${names}`,
  )
}

/** A message as lines. */
export function messageText(message: Message): string {
  const { from } = message
  if (message.kind === 'text') {
    const whom = message.to === undefined ? '' : ` to ${message.to}`
    return `[${from}${whom}] ${printableLines(message.body)}`
  }
  const { end, attempt } = message
  const again = attempt > 1 ? `, attempt ${attempt}` : ''
  return [`[${from}: ${endText(end, again)}`.trimEnd(), ...notQueuedLines(from, end)].join('\n')
}

function endText(end: End, again: string): string {
  if (end.success) return `done${again}]\n${printableLines(end.output)}`
  const head = `failed (${end.class})${again}] ${printableLines(end.error)}`
  return end.partialOutput === undefined ? head : `${head}\n${printableLines(end.partialOutput)}`
}

function notQueuedLines(from: string, { notQueued = [] }: End): string[] {
  return notQueued.map(({ name, error, hint = '' }) =>
    `[${from}] Not queued: ${name}. ${error} ${hint}`.trimEnd(),
  )
}
