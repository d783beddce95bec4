import { z } from 'zod'
import { UserError } from '../base/errors.ts'
import { readPushOptions } from '../parse/phases/push-options.ts'
import { flag, text } from './fields.ts'
import { makeVerb } from './verb.ts'

// No more words than an agent needs: every schema is read anew in every conversation.

export const seconds = z
  .number()
  .refine((value) => value >= 0, 'it is negative')
  .describe('seconds')
  .optional()

export const count = z
  .number()
  .refine((value) => Number.isSafeInteger(value) && value > 0, 'a whole number from 1 on')
  .optional()

export const push = makeVerb({
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
  makes: true,
  agentOf: ({ prompt: _prompt, ...options }) => readPushOptions(asWords(options)).agent,
  nothing: () => ({}),
  async run({ prompt, ...options }, { desk }) {
    if (prompt.trim() === '') throw new UserError('The prompt of the task is empty.')
    const [name] = await desk.push([{ ...readPushOptions(asWords(options)), prompt }])
    return { json: { name } }
  },
})

function asWords(options: Readonly<Record<string, string | number | undefined>>) {
  return Object.entries(options).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, name === 'timeout' ? `${value}s` : String(value)] as const],
  )
}

export const run = makeVerb({
  name: 'run',
  description: 'Start the oldest count of your queued tasks, or all; returns at once.',
  input: z.strictObject({ count, parallel: count.describe('instead: all, so many at a time') }),
  nothing: () => ({ started: [], held: 0 }),
  async run({ count: most, parallel }, seat) {
    if (most !== undefined && parallel !== undefined) {
      throw new UserError('Only one of count and parallel can be given.')
    }
    const { started, held } = await seat.desk.run({ count: most, parallel })
    try {
      await seat.begin()
    } catch (error) {
      throw error instanceof UserError ? notWorkedAt(error, started) : error
    }
    return { json: { started, held } }
  },
})

/** They are started all the same: whoever is not told of it would start others in their place. */
function notWorkedAt({ message, hint }: UserError, started: readonly string[]): UserError {
  if (started.length === 0) return new UserError(message, hint)
  const words = `Started, and waiting until somebody works at them: ${started.join(', ')}.`
  return new UserError(`${message}\n${words}`, hint)
}

export const send = makeVerb({
  name: 'send',
  description: 'Send a message to an agent of this run, by its name.',
  input: z.strictObject({ to: z.string(), message: z.string() }),
  nothing: refuseAll,
  async run({ to, message }, { desk }) {
    await desk.send(to, message)
    return { json: { sent: to } }
  },
})

export const cancel = makeVerb({
  name: 'cancel',
  description: 'Stop a task and all below it.',
  input: z.strictObject({ name: z.string() }),
  nothing: refuseAll,
  async run({ name }, { desk }) {
    const { ended, told } = await desk.cancel(name)
    return { json: { ended, told } }
  },
})

function refuseAll(): never {
  throw new UserError('No agent of this run has queued anything.', 'See the tool queue.')
}

export const lifo = flag.describe('newest first')
