import { z } from 'zod'
import { UserError } from '../base/errors.ts'
import { messageJson } from '../queue/message-json.ts'
import type { Message } from '../queue/message.ts'
import type { TaskBrief } from '../queue/task.ts'
import { texts } from './fields.ts'
import { count, lifo, seconds } from './change.ts'
import { inToolWords } from './tool-words.ts'
import { makeVerb } from './verb.ts'

/** An agent has to read all of an answer. */
const MOST_MESSAGES = 20
const MOST_TASKS = 100

/** What to do is said in the names of tools. */
function toolJson(message: Message) {
  return messageJson(message, inToolWords)
}

/** Clients that want to hear of progress give up after a minute without it. */
const PROGRESS_MS = 15_000

export const check = makeVerb({
  name: 'check',
  description: 'Take the messages that are there, without waiting.',
  input: z.strictObject({ from: texts, lifo, max: count }),
  nothing: () => ({ messages: [] }),
  async run({ from, lifo: isNewestFirst, max = MOST_MESSAGES }, { desk }) {
    const names = checkNames(from)
    const delivery = await desk.check({ from: names, lifo: isNewestFirst, max })
    const messages = delivery.messages.map(toolJson)
    const rest = messages.length < max ? [] : await desk.inbox()
    const more = rest.filter(
      ({ isLeased, from: name, to }) =>
        !isLeased && (names === undefined || (to === undefined && names.includes(name))),
    ).length
    return { json: { messages, ...(more === 0 ? {} : { more }) }, delivery }
  },
})

export const receive = makeVerb({
  name: 'receive',
  description:
    'Wait for one message, or with from until each of them has answered. The result or failure of a task comes by itself.',
  input: z.strictObject({ from: texts, lifo, timeout: seconds }),
  nothing: () => ({ status: 'nothing_to_wait_for', senders: [], messages: [] }),
  async run({ from, lifo: isNewestFirst, timeout }, seat, call) {
    const timeoutMs = timeout === undefined ? undefined : timeout * 1000
    const query = { from: checkNames(from), lifo: isNewestFirst, timeoutMs }
    const timer = setInterval(() => call.progress(), PROGRESS_MS)
    try {
      const delivery = await seat.receive(query, call.signal)
      const { status, senders, deadlock, messages } = delivery
      const circle = deadlock === undefined ? {} : { deadlock }
      return { json: { status, senders, ...circle, messages: messages.map(toolJson) }, delivery }
    } finally {
      clearInterval(timer)
    }
  },
})

function checkNames(from: readonly string[] | undefined): readonly string[] | undefined {
  if (from?.length === 0) throw new UserError('from names nobody.', 'Leave it out for anybody.')
  return from
}

export const queue = makeVerb({
  name: 'queue',
  description: 'Your tasks, and the room that is left.',
  isReading: true,
  input: z.strictObject({}),
  nothing: () => ({ tasks: [] }),
  async run(_, { desk }) {
    const { tasks, counts } = await desk.queue()
    // Those that are over are of least interest, and of these the oldest.
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

export const inbox = makeVerb({
  name: 'inbox',
  description: 'Who has sent, and how long ago.',
  isReading: true,
  input: z.strictObject({}),
  nothing: () => ({ messages: [] }),
  async run(_, { desk }) {
    const lines = await desk.inbox()
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
