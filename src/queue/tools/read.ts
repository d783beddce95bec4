import { z } from 'zod'
import { UserError } from '../../base/errors.ts'
import { messageJson } from '../message-json.ts'
import type { Message } from '../message.ts'
import type { TaskBrief } from '../task.ts'
import { texts } from './fields.ts'
import { count, lifo, seconds } from './change.ts'
import { translateHint } from './translate-hint.ts'
import { makeQueueTool } from './tool.ts'

/** Limits, because an agent reads the whole answer. */
const MOST_MESSAGES = 20
const MOST_TASKS = 100

function toolJson(message: Message) {
  return messageJson(message, translateHint)
}

/** Some clients give up after a minute without progress. */
const PROGRESS_MS = 15_000

export const check = makeQueueTool({
  name: 'check',
  description: 'Take the messages that are there, without waiting.',
  input: z.strictObject({ from: texts, lifo, max: count }),
  withoutQueue: () => ({ messages: [] }),
  async run({ from, lifo: isNewestFirst, max = MOST_MESSAGES }, { client }) {
    const names = checkNames(from)
    const delivery = await client.check({ from: names, lifo: isNewestFirst, max })
    const messages = delivery.messages.map(toolJson)
    const rest = messages.length < max ? [] : await client.inbox()
    const more = rest.filter(
      ({ isLeased, from: name, to }) =>
        !isLeased && (names === undefined || (to === undefined && names.includes(name))),
    ).length
    return { json: { messages, ...(more === 0 ? {} : { more }) }, delivery }
  },
})

export const receive = makeQueueTool({
  name: 'receive',
  description:
    'Wait for one message, or with from until each of them has answered. The result or failure of a task comes by itself.',
  input: z.strictObject({ from: texts, lifo, timeout: seconds }),
  withoutQueue: () => ({ status: 'nothing_to_wait_for', senders: [], messages: [] }),
  async run({ from, lifo: isNewestFirst, timeout }, session, call) {
    const timeoutMs = timeout === undefined ? undefined : timeout * 1000
    const query = { from: checkNames(from), lifo: isNewestFirst, timeoutMs }
    const timer = setInterval(() => call.progress(), PROGRESS_MS)
    try {
      const delivery = await session.receive(query, call.signal)
      const { status, senders, deadlock, messages } = delivery
      const circle = deadlock === undefined ? {} : { deadlock }
      return { json: { status, senders, ...circle, messages: messages.map(toolJson) }, delivery }
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

export const queue = makeQueueTool({
  name: 'queue',
  description: 'Your tasks, and the room that is left.',
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

export const inbox = makeQueueTool({
  name: 'inbox',
  description: 'Who has sent, and how long ago.',
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
