import { UserError } from '../../base/errors.ts'
import { messageLimitFor, withQueueClient, type OpenQueue } from '../../host/queue/caller.ts'
import { checkTypedAgent, warnWithoutAgent } from '../../host/queue/check-agent.ts'
import type { Push } from '../../queue/client.ts'
import { readPushOptions } from '../../queue/push-options.ts'
import { QueueError } from '../../queue/refusal.ts'
import { UsageError, type Input } from '../command.ts'
import { readStdin } from '../read-stdin.ts'
import { print, printResult } from '../print.ts'
import { PUSHED_OPTIONS, QueueArguments, queueRequest } from './arguments.ts'
import { describeResume, isAbandoned } from './explain.ts'

export async function pushTask(input: Input): Promise<number> {
  const given = await readPush(input, new QueueArguments(input, PUSHED_OPTIONS))
  const push =
    given.agent === undefined
      ? given
      : { ...given, agent: await checkTypedAgent(queueRequest(input), given.agent) }
  return withQueueClient(queueRequest(input), 'create-run', async ({ client, run, agent }) => {
    const [name] = await client.push([push])
    printResult(input, { ok: true, run, agent, name }, name!)
    if (push.agent === undefined) warnWithoutAgent(queueRequest(input))
    return 0
  })
}

/** Parses options like `/push` in a prompt, so that they mean the same. */
async function readPush(input: Input, args: QueueArguments): Promise<Push> {
  const text = args.rest.join(' ')
  const prompt = text === '-' ? await readStdinText(input, 'prompt') : text
  if (prompt.trim() === '') {
    throw new UsageError(
      'The prompt of the task is missing.',
      'Use push - to read it from stdin, or put -- before a prompt that looks like an option.',
    )
  }
  const values = PUSHED_OPTIONS.flatMap((name) => {
    const value = args.text(name)
    return value === undefined ? [] : [[name, value] as const]
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
  return withQueueClient(queueRequest(input), 'create-store', async ({ client, run }) => {
    await client.send(to, body)
    if (input.flag('json')) print(JSON.stringify({ ok: true, run, to }))
    return 0
  })
}

export async function cancelTask(input: Input): Promise<number> {
  const name = new QueueArguments(input, []).optional()
  if (name === undefined) throw new UsageError('cancel needs the name of a task.')
  return withQueueClient(queueRequest(input), 'existing', async (opened) => {
    const { run } = opened
    const { ended, told } = await opened.client.cancel(name)
    if (input.flag('json')) print(JSON.stringify({ ok: true, run, ended, told }))
    else {
      if (ended.length > 0) print(`Ended: ${ended.join(', ')}`)
      if (told.length > 0) print(describeStopped(opened, told))
    }
    return 0
  })
}

/** If no process runs them, the next run-queue stops them. */
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
