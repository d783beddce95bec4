import { UserError } from '../../base/errors.ts'
import {
  messageLimitFor,
  refuseWithoutQueue,
  withQueueClient,
  type OpenQueue,
} from '../../host/queue/caller.ts'
import { agentPath, checkAgent } from '../../host/queue/check-agent.ts'
import type { Push } from '../../queue/client.ts'
import { readPushOptions } from '../../queue/push-options.ts'
import { QueueError } from '../../queue/refusal.ts'
import { UsageError, type Input } from '../command.ts'
import { frontEndOf } from '../front-end.ts'
import { readStdin } from '../read-stdin.ts'
import { print } from '../print.ts'
import { PUSH_OPTIONS, QueueArguments, queueRequest } from './arguments.ts'
import { describeResume, isAbandoned } from './explain.ts'

export async function pushTask(input: Input): Promise<number> {
  const push = await readPush(input, new QueueArguments(input, PUSH_OPTIONS))
  if (push.agent !== undefined) await checkAgent(queueRequest(input), push.agent)
  return withQueueClient(
    queueRequest(input),
    'create-run',
    async ({ client, run, agent }) => {
      const [name] = await client.push([push])
      print(input.flag('json') ? JSON.stringify({ ok: true, run, agent, name }) : name!)
      return 0
    },
    refuseWithoutQueue,
  )
}

/** Reads options with the parser of `/push` in prompts, so that they mean the same. */
async function readPush(input: Input, words: QueueArguments): Promise<Push> {
  const text = words.rest.join(' ')
  const prompt = text === '-' ? await readStdinText(input, 'prompt') : text
  if (prompt.trim() === '') {
    throw new UsageError(
      'The prompt of the task is missing.',
      'Write push - to read it from stdin, or -- before a prompt that looks like an option.',
    )
  }
  const values = PUSH_OPTIONS.flatMap((name) => {
    const value = words.text(name)
    if (value === undefined) return []
    return [[name, name === 'agent' ? agentPath(value, frontEndOf(input)) : value] as const]
  })
  return { ...readPushOptions(values), prompt }
}

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

/** Reads UTF-8 text from stdin, up to the size limit of the run. */
async function readStdinText(input: Input, what: 'prompt' | 'message'): Promise<string> {
  const limit = await messageLimitFor(queueRequest(input))
  const bytes = await readStdin(
    limit,
    (size) => new QueueError({ kind: 'too_big', what, bytes: size, limit }),
  )
  // A program argument cannot contain NUL; a message can.
  if (what === 'prompt' && bytes.includes(0)) {
    throw new UserError('stdin is not text: it contains NUL bytes.')
  }
  const text = decode(bytes)
  if (text.trim() === '')
    throw new UsageError('stdin is empty.', 'A - means that the text is read from stdin.')
  return text
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new UserError('stdin is not UTF-8 text.')
  }
}
