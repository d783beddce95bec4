import { z } from 'zod'
import { dropUndefined } from '../../base/objects.ts'
import { UserError } from '../../base/errors.ts'
import { messageJson } from '../message.ts'
import { readPushOptions } from '../push-options.ts'
import type { TaskBrief } from '../task.ts'
import { makeQueueTool, type QueueTool } from './tool.ts'

// Descriptions are short, because every conversation reads every schema.

const text = z.string().optional()
const texts = z.array(z.string()).optional()
const lifo = z.boolean().describe('newest first').optional()

const seconds = z
  .number()
  .refine((value) => value >= 0, 'must not be negative')
  .describe('seconds')
  .optional()

const count = z
  .number()
  .refine((value) => Number.isSafeInteger(value) && value > 0, 'must be a positive integer')
  .optional()

const push = makeQueueTool({
  name: 'push',
  description:
    'Queue a task for a sub-agent, which sees only its prompt; returns its name. Does not start it.',
  input: z.strictObject({
    prompt: z.string(),
    name: text,
    agent: text.describe('default: your own kind'),
    model: text,
    timeout: seconds,
    retry: z.number().describe('retries after a transient failure').optional(),
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

const run = makeQueueTool({
  name: 'run',
  description: 'Start your queued tasks: all, or the oldest count; returns at once.',
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

/** Says that the tasks were started anyway; otherwise the agent would push them again. */
function describeNotProcessed({ message, hint }: UserError, started: readonly string[]): UserError {
  if (started.length === 0) return new UserError(message, hint)
  const note = `Started, but not running yet: ${started.join(', ')}.`
  return new UserError(`${message}\n${note}`, hint)
}

const send = makeQueueTool({
  name: 'send',
  description: 'Send a message to an agent of this run, by its name.',
  input: z.strictObject({ to: z.string(), message: z.string() }),
  withoutQueue: refuseWithoutQueue,
  async run({ to, message }, { client }) {
    await client.send(to, message)
    return { json: { sent: to } }
  },
})

const cancel = makeQueueTool({
  name: 'cancel',
  description: 'Cancel a task and its descendants.',
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

/** Limits, because an agent reads the whole answer. */
const MOST_MESSAGES = 20
const MOST_TASKS = 100

/** Some clients give up after a minute without progress. */
const PROGRESS_MS = 15_000

const check = makeQueueTool({
  name: 'check',
  description: 'Read the messages in your inbox without waiting.',
  input: z.strictObject({ from: texts, lifo, max: count }),
  withoutQueue: () => ({ messages: [] }),
  async run({ from, lifo: isNewestFirst, max = MOST_MESSAGES }, { client }) {
    const names = checkNames(from)
    const delivery = await client.check({ from: names, lifo: isNewestFirst, max })
    const messages = delivery.messages.map(messageJson)
    const more = messages.length < max ? 0 : await client.countUnread(names)
    return { json: { messages, ...(more === 0 ? {} : { more }) }, delivery }
  },
})

const receive = makeQueueTool({
  name: 'receive',
  description:
    'Wait for one message, or with from until each of them has answered. The result or failure of a task arrives as a message.',
  input: z.strictObject({ from: texts, lifo, timeout: seconds }),
  withoutQueue: () => ({ status: 'nothing_to_wait_for', senders: [], messages: [] }),
  async run({ from, lifo: isNewestFirst, timeout }, session, call) {
    const timeoutMs = timeout === undefined ? undefined : timeout * 1000
    const query = { from: checkNames(from), lifo: isNewestFirst, timeoutMs }
    const timer = setInterval(() => call.progress(), PROGRESS_MS)
    try {
      const delivery = await session.receive(query, call.signal)
      const { status, senders, deadlock, messages } = delivery
      const head = dropUndefined({ status, senders, deadlock })
      return { json: { ...head, messages: messages.map(messageJson) }, delivery }
    } finally {
      clearInterval(timer)
    }
  },
})

function checkNames(from: readonly string[] | undefined): readonly string[] | undefined {
  if (from?.length === 0)
    throw new UserError('from is empty.', 'Leave it out to accept messages from anyone.')
  return from
}

const queue = makeQueueTool({
  name: 'queue',
  description: 'Your tasks, and the remaining capacity.',
  isReading: true,
  input: z.strictObject({}),
  withoutQueue: () => ({ tasks: [] }),
  async run(_, { client }) {
    const { tasks, counts } = await client.queue()
    // Ended tasks come last, the oldest of them at the very end.
    const open = tasks.filter(({ end }) => end === null)
    const shown = [...open, ...tasks.filter(({ end }) => end !== null).toReversed()]
    const more = Math.max(0, shown.length - MOST_TASKS)
    const { queued, ready, running, ended, slotsLeft, queueLeft } = counts
    return {
      json: {
        tasks: shown.slice(0, MOST_TASKS).map(taskJson),
        ...(more === 0 ? {} : { more }),
        run: { queued, ready, running, ended, may_start: slotsLeft, may_queue: queueLeft },
      },
    }
  },
})

function taskJson({ name, state, ageMs, attempt, options: { agent }, end }: TaskBrief) {
  return {
    name,
    state: end === null ? state : end.success ? 'done' : `failed: ${end.class}`,
    seconds: Math.round(ageMs / 1000),
    ...(attempt > 1 ? { attempt } : {}),
    ...(agent === undefined ? {} : { agent }),
  }
}

const inbox = makeQueueTool({
  name: 'inbox',
  description: 'Senders and age of unread messages.',
  isReading: true,
  input: z.strictObject({}),
  withoutQueue: () => ({ messages: [] }),
  async run(_, { client }) {
    const lines = await client.inbox()
    const more = Math.max(0, lines.length - MOST_TASKS)
    const messages = lines.slice(0, MOST_TASKS).map(({ from, to, kind, ageMs, isLeased }) => ({
      from,
      ...(to === undefined ? {} : { to }),
      kind,
      seconds: Math.round(ageMs / 1000),
      ...(isLeased ? { being_read: true } : {}),
    }))
    return { json: { messages, ...(more === 0 ? {} : { more }) } }
  },
})

/** The queue tools of the built-in agent and of the MCP server. */
export const TOOLS: readonly QueueTool[] = [push, run, receive, check, send, queue, inbox, cancel]
