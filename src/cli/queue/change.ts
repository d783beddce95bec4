import { UsageError, type Input } from '../command.ts'
import { print } from '../tasks/print.ts'
import { refuseWithoutQueue, withQueueClient, type OpenQueue } from '../../host/queue/caller.ts'
import { describeResume, isAbandoned } from './abandoned.ts'
import { readStdinText } from './stdin-text.ts'
import { QueueArguments, queueRequest } from './arguments.ts'

export async function sendMessage(input: Input): Promise<number> {
  const [to, ...words] = new QueueArguments(input, []).rest
  const text = words.join(' ')
  if (to === undefined || text === '') {
    throw new UsageError(
      'send needs an agent and a message.',
      'For example: forkhestra send main "…"',
    )
  }
  const body = text === '-' ? await readStdinText(input, 'message') : text
  return withQueueClient(
    queueRequest(input),
    'create-store',
    async ({ client, run }) => {
      await client.send(to, body)
      if (input.flag('json')) print(JSON.stringify({ ok: true, run, to }))
      return 0
    },
    refuseWithoutQueue,
  )
}

export async function cancelTask(input: Input): Promise<number> {
  const name = new QueueArguments(input, []).optional()
  if (name === undefined) throw new UsageError('cancel needs the name of a task.')
  return withQueueClient(
    queueRequest(input),
    'existing',
    async (opened) => {
      const { run } = opened
      const { ended, told } = await opened.client.cancel(name)
      if (input.flag('json')) print(JSON.stringify({ ok: true, run, ended, told }))
      else {
        if (ended.length > 0) print(`Ended: ${ended.join(', ')}`)
        if (told.length > 0) print(describeStopped(opened, told))
      }
      return 0
    },
    refuseWithoutQueue,
  )
}

/** If no process runs them, they are stopped by the next run-queue. */
function describeStopped(opened: OpenQueue, names: readonly string[]): string {
  if (!isAbandoned(opened)) return `Stopping: ${names.join(', ')}`
  return `Will be stopped: ${names.join(', ')}; ${describeResume(opened, names.length)}`
}
