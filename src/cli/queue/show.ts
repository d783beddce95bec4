import { formatDuration } from '../../base/durations.ts'
import { didYouMean } from '../../base/nearest.ts'
import { printable } from '../../base/terminal/printable.ts'
import { renderTable } from '../../views/table.ts'
import type { InboxLine } from '../../queue/message.ts'
import type { Counts } from '../../queue/store.ts'
import type { TaskBrief } from '../../queue/task.ts'
import { UsageError, type Input } from '../command.ts'
import { print } from '../print.ts'
import { identityOf, withQueueClient, type OpenQueue } from '../../host/queue/caller.ts'
import { otherQueues } from '../../host/records/unfinished-queues.ts'
import { recordsFor } from '../records/choose-run.ts'
import { describeAbandoned, isAbandoned } from './explain.ts'
import { describeQueue } from '../../host/queue/masked.ts'
import { verifyQueue } from '../../host/queue/verify.ts'
import { QueueArguments, queueRequest } from './arguments.ts'

export async function showQueue(input: Input): Promise<number> {
  const word = new QueueArguments(input, []).optional()
  if (word === 'verify') return printVerified(input)
  if (word !== undefined) {
    const guess = didYouMean(word, ['verify'])
    throw new UsageError(`Unexpected argument '${word}'${guess === '' ? '.' : guess}`)
  }
  return withQueueClient(
    queueRequest(input),
    'existing',
    async (opened) => {
      const { run, agent } = opened
      const { tasks, counts, shown } = await describeQueue(opened, input.flag('all'), process.env)
      if (input.flag('json')) {
        print(JSON.stringify({ ok: true, run, agent, tasks, counts }))
        return 0
      }
      print(queueLines(opened, shown, counts).join('\n'))
      await printOtherQueues(input, run)
      return 0
    },
    async (caller) => {
      printEmpty(input, { ...identityOf(caller), tasks: [], counts: null }, 'The queue is empty.')
      if (!input.flag('json')) await printOtherQueues(input)
      return 0
    },
  )
}

async function printVerified(input: Input): Promise<number> {
  const verified = await verifyQueue(queueRequest(input))
  if (verified.run === undefined) {
    const { run } = identityOf(verified.caller)
    return printEmpty(input, { run, problems: [] }, 'There is no queue to verify.')
  }
  const { run, problems } = verified
  const ok = problems.length === 0
  if (input.flag('json')) print(JSON.stringify({ ok, run, problems }))
  else if (ok) print(`The queues of run ${run} match their history.`)
  else for (const problem of problems) print(printable(problem))
  return ok ? 0 : 1
}

function queueLines(opened: OpenQueue, tasks: readonly TaskBrief[], counts: Counts): string[] {
  const { ready, running } = counts
  const isNotDriven = ready + running > 0 && isAbandoned(opened)
  const left = isNotDriven ? describeAbandoned(opened, tasks) : undefined
  return [
    ...renderTasks(tasks, isNotDriven),
    countsLine(counts),
    ...(left === undefined ? [] : [left]),
  ]
}

export function countsLine({
  queued,
  ready,
  running,
  ended,
  slotsLeft,
  queueLeft,
}: Counts): string {
  const room = `capacity left: ${slotsLeft} running, ${queueLeft} queued`
  return `${queued} queued, ${ready} ready, ${running} running, ${ended} ended; ${room}`
}

export function renderTasks(tasks: readonly TaskBrief[], isNotDriven: boolean): string[] {
  const stateOf = ({ state }: TaskBrief) =>
    isNotDriven && state === 'running' ? 'interrupted' : state
  const rows = tasks.map((task) => [
    task.name,
    task.end === null ? stateOf(task) : task.end.success ? 'done' : `failed (${task.end.class})`,
    formatDuration(task.ageMs),
    task.attempt > 1 ? `attempt ${task.attempt}` : '',
    firstLine(task.beginning),
  ])
  return renderTable(rows)
}

function firstLine(text: string): string {
  const line = text.split('\n', 1)[0]!.replaceAll(/\p{Cc}/gu, ' ')
  return line.length > 60 ? `${line.slice(0, 60)}…` : line
}

export async function showInbox(input: Input): Promise<number> {
  return withQueueClient(
    queueRequest(input),
    'existing',
    async ({ client, run, agent }) => {
      const lines = await client.inbox()
      if (input.flag('json')) {
        print(JSON.stringify({ ok: true, run, agent, messages: lines }))
        return 0
      }
      print(lines.length === 0 ? 'The inbox is empty.' : inboxLines(lines).join('\n'))
      return 0
    },
    (caller) => printEmpty(input, { ...identityOf(caller), messages: [] }, 'The inbox is empty.'),
  )
}

export function inboxLines(lines: readonly InboxLine[]): string[] {
  const rows = lines.map(({ from, to, kind, ageMs, isLeased }) => [
    to === undefined ? from : `${from} to ${to}`,
    kind,
    `${formatDuration(ageMs)} ago`,
    isLeased ? 'being read' : '',
  ])
  return renderTable(rows)
}

function printEmpty(input: Input, json: object, words: string): number {
  print(input.flag('json') ? JSON.stringify({ ok: true, ...json }) : words)
  return 0
}

/** Prints what is queued in other runs of the project than `run`. */
export async function printOtherQueues(
  input: Input,
  run = '',
  verb: 'queue' | 'run-queue' = 'queue',
): Promise<void> {
  // Not for agents, nor if a run is named.
  if (process.env['FORKHESTRA_RUN_ID'] || input.text('run') !== undefined) return
  const cwd = input.text('cwd')
  const option = cwd === undefined ? '' : ` --cwd ${cwd}`
  for (const line of await otherQueues(recordsFor(input), run, option, verb)) print(line)
}
