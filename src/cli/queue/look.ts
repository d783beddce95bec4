import { durationWords } from '../../base/durations.ts'
import { didYouMean } from '../../base/nearest.ts'
import { renderTable } from '../../views/table.ts'
import type { InboxLine } from '../../queue/message.ts'
import type { Counts } from '../../queue/store.ts'
import { MAIN, type TaskBrief } from '../../queue/task.ts'
import { UsageError, type Input } from '../command.ts'
import { print } from '../tasks/print.ts'
import { whose, withDesk, type Opened } from './caller.ts'
import { isLeft, leftLine } from './left.ts'
import { tellOtherQueues } from './others.ts'
import { shownTasks } from './shown.ts'
import { verifyQueue } from './verify.ts'
import { Words } from './words.ts'

/** The verb `queue`: what is queued, running and finished; `queue verify` proves that nothing is lost. */
export async function showQueue(input: Input): Promise<number> {
  const word = new Words(input, []).one()
  if (word === 'verify') {
    return verifyQueue(input, (caller) =>
      nothing(input, { run: whose(caller).run, problems: [] }, 'There is no queue to verify.'),
    )
  }
  if (word !== undefined) {
    const guess = didYouMean(word, ['verify'])
    throw new UsageError(`Unexpected argument '${word}'${guess === '' ? '.' : guess}`)
  }
  return withDesk(
    input,
    'looks',
    async (opened) => {
      const { desk, store, run, agent } = opened
      const { tasks: own, counts } = await desk.queue()
      const all = await store.list(run)
      const tasks = await shownTasks(input.flag('all') ? all : own, opened)
      if (input.flag('json')) {
        const names = new Map(all.map(({ id, name }) => [id, name]))
        const json = tasks.map((task) => taskJson(task, names))
        print(JSON.stringify({ ok: true, run, agent, tasks: json, counts }))
        return 0
      }
      print(queueLines(opened, tasks, counts).join('\n'))
      tellOtherQueues(input, run)
      return 0
    },
    (caller) => {
      nothing(input, { ...whose(caller), tasks: [], counts: null }, 'The queue is empty.')
      if (!input.flag('json')) tellOtherQueues(input)
      return 0
    },
  )
}

function taskJson(
  { id, name, parent, state, attempt, retry, ageMs, options, beginning, end }: TaskBrief,
  names: ReadonlyMap<string, string>,
) {
  const parentName = names.get(parent ?? '') ?? MAIN
  const head = { id, name, parent: parentName, state, attempt, retry, ageMs }
  return { ...head, ...options, prompt: beginning, end }
}

function queueLines(opened: Opened, tasks: readonly TaskBrief[], counts: Counts): string[] {
  const { ready, running } = counts
  const isNobodyThere = ready + running > 0 && isLeft(opened)
  const left = isNobodyThere ? leftLine(opened, tasks) : undefined
  return [
    ...renderTasks(tasks, isNobodyThere),
    countsLine(counts),
    ...(left === undefined ? [] : [left]),
  ]
}

/** What there is, and what there is room for. */
export function countsLine({
  queued,
  ready,
  running,
  ended,
  slotsLeft,
  queueLeft,
}: Counts): string {
  const room = `room for ${slotsLeft} more at work, ${queueLeft} more queued`
  return `${queued} queued, ${ready} ready, ${running} running, ${ended} ended; ${room}`
}

/** The rows of a list of tasks. */
export function renderTasks(tasks: readonly TaskBrief[], isNobodyThere: boolean): string[] {
  const stateOf = ({ state }: TaskBrief) =>
    isNobodyThere && state === 'running' ? 'interrupted' : state
  const rows = tasks.map((task) => [
    task.name,
    task.end === null ? stateOf(task) : task.end.success ? 'done' : `failed (${task.end.class})`,
    durationWords(task.ageMs),
    task.attempt > 1 ? `attempt ${task.attempt}` : '',
    firstLine(task.beginning),
  ])
  return renderTable(rows)
}

function firstLine(text: string): string {
  const line = text.split('\n', 1)[0]!.replaceAll(/\p{Cc}/gu, ' ')
  return line.length > 60 ? `${line.slice(0, 60)}…` : line
}

/** The verb `inbox`: who has sent, and how long ago. */
export async function showInbox(input: Input): Promise<number> {
  return withDesk(
    input,
    'looks',
    async ({ desk, run, agent }) => {
      const lines = await desk.inbox()
      if (input.flag('json')) {
        print(JSON.stringify({ ok: true, run, agent, messages: lines }))
        return 0
      }
      print(lines.length === 0 ? 'The inbox is empty.' : inboxLines(lines).join('\n'))
      return 0
    },
    (caller) => nothing(input, { ...whose(caller), messages: [] }, 'The inbox is empty.'),
  )
}

/** The rows of an inbox. */
export function inboxLines(lines: readonly InboxLine[]): string[] {
  const rows = lines.map(({ from, to, kind, ageMs, isLeased }) => [
    to === undefined ? from : `${from} to ${to}`,
    kind,
    `${durationWords(ageMs)} ago`,
    isLeased ? 'being read' : '',
  ])
  return renderTable(rows)
}

function nothing(input: Input, json: object, words: string): number {
  print(input.flag('json') ? JSON.stringify({ ok: true, ...json }) : words)
  return 0
}
