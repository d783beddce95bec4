import type { LeftInQueue } from '../../records/events/schema.ts'
import type { InboxLine } from '../../queue/message.ts'
import type { QueueStore } from '../../queue/store.ts'
import { MAIN } from '../../queue/task.ts'

/** How many names a summary shows. */
const NAMED = 20

/** The tasks of a run that are not started yet. */
export async function queuedIn(store: QueueStore, run: string) {
  const tasks = await store.list(run, { states: ['queued'] })
  return { queued: tasks.length, names: tasks.slice(0, NAMED).map(({ name }) => name) }
}

/** The messages for a step's agent; in branches each one names its recipient. */
async function inboxOf(store: QueueStore, run: string, name: string): Promise<InboxLine[]> {
  const lines = await store.inbox(run, name)
  return lines.map((line) => (name === MAIN ? line : { to: name, ...line }))
}

/** The open tasks and unread messages of a run; undefined if there are none. */
export async function readLeftInQueue(
  store: QueueStore,
  run: string,
): Promise<LeftInQueue | undefined> {
  const tasks = await store.list(run, { states: ['queued', 'ready', 'running'] })
  const messages = (
    await Promise.all((await store.stepAgents(run)).map(({ name }) => inboxOf(store, run, name)))
  ).flat()
  if (tasks.length + messages.length === 0) return undefined
  return {
    queued: tasks.length,
    names: tasks.slice(0, NAMED).map(({ name }) => name),
    unread: messages.length,
    senders: [
      ...new Set(messages.map(({ from, to }) => (to === undefined ? from : `${from} to ${to}`))),
    ].slice(0, NAMED),
  }
}
