import { counted } from '../../base/amounts.ts'
import { printable } from '../../base/terminal/printable.ts'
import type { Delivery } from '../../queue/client.ts'
import type { Received } from '../../queue/receive.ts'
import { MAIN, type TaskHead } from '../../queue/task.ts'
import { hasOrphans } from '../../host/orphans.ts'
import type { OpenQueue, QueueCaller } from '../../host/queue/caller.ts'
import { isDriven } from '../../records/journal/run-lock.ts'

export const NOTHING_TO_WAIT_FOR = 'no message, and no agent is running'

/** Prints how a wait ended and what to do next. */
export async function explain(received: Received & Delivery, opened: OpenQueue): Promise<void> {
  const { status, senders, deadlock = [] } = received
  const isReceived = status === 'received'
  const missing = senders.filter((sender) => sender.status === 'idle' || sender.status === 'dead')
  const tasks = new Map((await opened.store.list(opened.run)).map((task) => [task.name, task]))
  const parts = [
    ...(isReceived ? [] : [describeEnd(received)]),
    ...(deadlock.length === 0 ? [] : [`waiting for each other: ${deadlock.join(', ')}`]),
    ...(isReceived ? missing : senders).map((sender) => describeSender(sender, tasks, opened)),
    ...(isReceived || senders.length > 0 ? [] : await describeWaiting(opened)),
  ]
  if (parts.length > 0) console.error(`[forkhestra] ${parts.join('; ')}`)
}

function describeEnd({ status, messages }: Received & Delivery): string {
  if (status !== 'nothing_to_wait_for') return status
  return messages.length === 0 ? NOTHING_TO_WAIT_FOR : 'no other agent is running'
}

function describeSender(
  { name, status }: Received['senders'][number],
  tasks: ReadonlyMap<string, TaskHead>,
  opened: OpenQueue,
): string {
  const task = tasks.get(name)
  const runQueue = `forkhestra run-queue${opened.options}`
  const descriptions = {
    received: () => 'has answered',
    running: () => {
      if (isAbandoned(opened)) return describeAbandonedTask(task, opened)
      return task?.state === 'ready' ? 'started, but not running yet' : 'working'
    },
    idle: () => (task === undefined ? 'not running' : `queued: ${runQueue}`),
    dead: () => (task === undefined && name !== MAIN ? 'unknown' : 'has ended'),
  }
  return `${printable(name)}: ${descriptions[status]()}`
}

function describeAbandonedTask(task: TaskHead | undefined, opened: OpenQueue): string {
  if (task?.state === 'running') return describeResume(opened)
  if (task?.state === 'ready') {
    return `started, but no process runs it: forkhestra run-queue${opened.options}`
  }
  return 'another reader has its message'
}

/** Tasks that would send a result if they were started. */
async function describeWaiting({ client, options }: OpenQueue): Promise<string[]> {
  const { tasks } = await client.queue()
  const count = tasks.filter(({ state }) => state === 'queued' || state === 'ready').length
  if (count === 0) return []
  const are = `${counted(count, 'task')} ${count === 1 ? 'is' : 'are'}`
  return [`${are} queued: forkhestra run-queue${options}`]
}

/** Whether no process drives the run, so that its running tasks are leftovers. */
export function isAbandoned(caller: QueueCaller): boolean {
  return !caller.isInside && !isDriven(caller.record)
}

/** What to do about tasks whose forkhestra process was killed. */
export function describeResume({ run, options }: QueueCaller, count = 1): string {
  const orphans = hasOrphans(run) ? ' --kill-orphans' : ''
  const whose = count === 1 ? 'its' : 'their'
  return `${whose} forkhestra process is gone; resume with: forkhestra run-queue${options}${orphans}`
}

/** A line about started tasks that no process runs; empty if none. */
export function describeAbandoned(
  caller: QueueCaller,
  tasks: readonly TaskHead[],
): string | undefined {
  const namesOf = (state: TaskHead['state']) =>
    tasks.filter((task) => task.state === state).map(({ name }) => name)
  const [running, ready] = [namesOf('running'), namesOf('ready')]
  if (running.length > 0) return `${running.join(', ')}: ${describeResume(caller, running.length)}`
  if (ready.length === 0) return undefined
  return `${ready.join(', ')}: no process is running this queue; resume with: forkhestra run-queue${caller.options}`
}
