import { readPushOptions } from '../../queue/push-options.ts'
import type { Push } from '../../queue/client.ts'
import { UsageError, type Input } from '../command.ts'
import { frontEndOf } from '../front-end.ts'
import { print } from '../tasks/print.ts'
import { withQueueClient } from '../../host/queue/caller.ts'
import { agentPath, checkAgent } from '../../host/queue/check-agent.ts'
import { readStdinText } from './stdin-text.ts'
import { PUSH_OPTIONS, QueueArguments, queueRequest } from './arguments.ts'

export async function pushTask(input: Input): Promise<number> {
  const push = await readPush(input, new QueueArguments(input, PUSH_OPTIONS))
  if (push.agent !== undefined) await checkAgent(queueRequest(input), push.agent)
  const none = () => 1
  return withQueueClient(
    queueRequest(input),
    'create-run',
    async ({ client, run, agent }) => {
      const [name] = await client.push([push])
      print(input.flag('json') ? JSON.stringify({ ok: true, run, agent, name }) : name!)
      return 0
    },
    none,
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
