import { z } from 'zod'
import { UserError } from '../../base/errors.ts'
import { readPushOptions } from '../push-options.ts'
import { flag, text } from './fields.ts'
import { makeQueueTool } from './tool.ts'

// Descriptions are short, because every conversation reads every schema.

export const seconds = z
  .number()
  .refine((value) => value >= 0, 'must not be negative')
  .describe('seconds')
  .optional()

export const count = z
  .number()
  .refine((value) => Number.isSafeInteger(value) && value > 0, 'must be a positive integer')
  .optional()

export const push = makeQueueTool({
  name: 'push',
  description:
    'Queue a task for a sub-agent that knows nothing but its prompt; gives its name. Starts nothing.',
  input: z.strictObject({
    prompt: z.string(),
    name: text,
    agent: text.describe('default: your own kind'),
    model: text,
    timeout: seconds,
    retry: z.number().describe('attempts after a passing failure').optional(),
    isolation: text.describe('shared or worktree'),
    on_parent_end: text.describe('wait or cancel'),
  }),
  createsQueue: true,
  agentOf: ({ prompt: _prompt, ...options }) => readPushOptions(toPairs(options)).agent,
  withoutQueue: () => ({}),
  async run({ prompt, ...options }, { client }) {
    if (prompt.trim() === '') throw new UserError('The prompt of the task is empty.')
    const [name] = await client.push([{ ...readPushOptions(toPairs(options)), prompt }])
    return { json: { name } }
  },
})

function toPairs(options: Readonly<Record<string, string | number | undefined>>) {
  return Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, name === 'timeout' ? `${value}s` : String(value)] as const],
  )
}

export const run = makeQueueTool({
  name: 'run',
  description: 'Start the oldest count of your queued tasks, or all; returns at once.',
  input: z.strictObject({
    count,
    parallel: count.describe('instead of count: start all, this many at a time'),
  }),
  withoutQueue: () => ({ started: [], held: 0 }),
  async run({ count: most, parallel }, session) {
    if (most !== undefined && parallel !== undefined) {
      throw new UserError('Use either count or parallel, not both.')
    }
    const { started, held } = await session.client.run({ count: most, parallel })
    try {
      await session.begin()
    } catch (error) {
      throw error instanceof UserError ? describeNotProcessed(error, started) : error
    }
    return { json: { started, held } }
  },
})

/** The tasks are started even so; without saying it, the agent would start others. */
function describeNotProcessed({ message, hint }: UserError, started: readonly string[]): UserError {
  if (started.length === 0) return new UserError(message, hint)
  const words = `Started, but not running yet: ${started.join(', ')}.`
  return new UserError(`${message}\n${words}`, hint)
}

export const send = makeQueueTool({
  name: 'send',
  description: 'Send a message to an agent of this run, by its name.',
  input: z.strictObject({ to: z.string(), message: z.string() }),
  withoutQueue: refuseWithoutQueue,
  async run({ to, message }, { client }) {
    await client.send(to, message)
    return { json: { sent: to } }
  },
})

export const cancel = makeQueueTool({
  name: 'cancel',
  description: 'Stop a task and all below it.',
  input: z.strictObject({ name: z.string() }),
  withoutQueue: refuseWithoutQueue,
  async run({ name }, { client }) {
    const { ended, told } = await client.cancel(name)
    return { json: { ended, told } }
  },
})

function refuseWithoutQueue(): never {
  throw new UserError('No agent of this run has queued anything.', 'See the tool queue.')
}

export const lifo = flag.describe('newest first')
