import { counted } from '../../base/amounts.ts'
import { printable } from '../../base/printable.ts'
import type { Delivery } from '../../queue/desk.ts'
import type { Received } from '../../queue/receive.ts'
import { MAIN, type TaskHead } from '../../queue/task.ts'
import type { Opened } from './caller.ts'
import { goOnWords, isLeft } from './left.ts'

export const NOTHING = 'no message, and nobody is at work'

/** Says in a line for people how a wait has ended, and what they can do about it. */
export async function explain(received: Received & Delivery, opened: Opened): Promise<void> {
  const { status, senders, deadlock = [] } = received
  const isThere = status === 'received'
  const missing = senders.filter((sender) => sender.status === 'idle' || sender.status === 'dead')
  const tasks = new Map((await opened.store.list(opened.run)).map((task) => [task.name, task]))
  const words = [
    ...(isThere ? [] : [endWords(received)]),
    ...(deadlock.length === 0 ? [] : [`waiting for each other: ${deadlock.join(', ')}`]),
    ...(isThere ? missing : senders).map((sender) => senderWords(sender, tasks, opened)),
    ...(isThere || senders.length > 0 ? [] : await waitingWords(opened)),
  ]
  if (words.length > 0) console.error(`[forkhestra] ${words.join('; ')}`)
}

function endWords({ status, messages }: Received & Delivery): string {
  if (status !== 'nothing_to_wait_for') return status
  return messages.length === 0 ? NOTHING : 'nobody else is at work'
}

function senderWords(
  { name, status }: Received['senders'][number],
  tasks: ReadonlyMap<string, TaskHead>,
  opened: Opened,
): string {
  const task = tasks.get(name)
  const runQueue = `forkhestra run-queue${opened.options}`
  const words = {
    received: () => 'has answered',
    running: () => (isLeft(opened) ? leftWords(task, opened) : 'at work'),
    idle: () => (name === MAIN ? 'nobody acts for it' : `queued: ${runQueue}`),
    dead: () => (task === undefined && name !== MAIN ? 'unknown' : 'has ended'),
  }
  return `${printable(name)}: ${words[status]()}`
}

function leftWords(task: TaskHead | undefined, opened: Opened): string {
  if (task?.state === 'running') return goOnWords(opened)
  if (task?.state === 'ready') {
    return `started, but nobody is at work: forkhestra run-queue${opened.options}`
  }
  return 'another reader has its message'
}

/** What would send something, were it started. */
async function waitingWords({ desk, options }: Opened): Promise<string[]> {
  const { tasks } = await desk.queue()
  const count = tasks.filter(({ state }) => state === 'queued' || state === 'ready').length
  if (count === 0) return []
  const are = `${counted(count, 'task')} ${count === 1 ? 'is' : 'are'}`
  return [`${are} queued: forkhestra run-queue${options}`]
}
