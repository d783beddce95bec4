import { formatDuration } from '../../base/durations.ts'
import { didYouMean } from '../../base/nearest.ts'
import { printable } from '../../base/terminal/printable.ts'
import { renderTable } from '../../views/table.ts'
import type { InboxLine } from '../../queue/message.ts'
import type { Counts } from '../../queue/store.ts'
import { MAIN, stepAgentName, type TaskBrief } from '../../queue/task.ts'
import { UsageError, type Input } from '../command.ts'
import { print, printResult } from '../print.ts'
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
      const lines = queueLines(opened, shown, counts)
      printResult(input, { ok: true, run, agent, tasks, counts }, lines.join('\n'))
      return printOtherQueues(input, run)
    },
    async (caller) => {
      const none = { ok: true, ...identityOf(caller), tasks: [], counts: null }
      printResult(input, none, 'The queue is empty.')
      return printOtherQueues(input)
    },
  )
}

async function printVerified(input: Input): Promise<number> {
  const verified = await verifyQueue(queueRequest(input))
  if (verified.run === undefined) {
    const none = { ok: true, run: identityOf(verified.caller).run, problems: [] }
    return printResult(input, none, 'There is no queue to verify.')
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
    ...renderQueue(tasks, isNotDriven, opened.agent),
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

/** Names the owner of tasks that belong to agents of steps other than `agent`. */
export function renderQueue(
  tasks: readonly TaskBrief[],
  isNotDriven: boolean,
  agent: string = MAIN,
): string[] {
  const stateOf = ({ state }: TaskBrief) =>
    isNotDriven && state === 'running' ? 'interrupted' : state
  const ownerOf = ({ run, parent }: TaskBrief) => {
    const name = stepAgentName(run, parent) ?? agent
    return name === agent ? '' : `for ${name}`
  }
  const areOwn = tasks.every((task) => ownerOf(task) === '')
  const rows = tasks.map((task) => [
    task.name,
    task.end === null ? stateOf(task) : task.end.success ? 'done' : `failed (${task.end.class})`,
    formatDuration(task.ageMs),
    task.attempt > 1 ? `attempt ${task.attempt}` : '',
    ...(areOwn ? [] : [ownerOf(task)]),
    firstLine(task.beginning),
  ])
  return renderTable(rows)
}

function firstLine(text: string): string {
  const line = text.split('\n', 1)[0]!.replaceAll(/\p{Cc}/gu, ' ')
  return line.length > 60 ? `${line.slice(0, 60)}…` : line
}

const EMPTY_INBOX = 'The inbox is empty.'

export async function showInbox(input: Input): Promise<number> {
  return withQueueClient(
    queueRequest(input),
    'existing',
    async ({ client, run, agent }) => {
      const messages = await client.inbox()
      const text = messages.length === 0 ? EMPTY_INBOX : inboxLines(messages).join('\n')
      return printResult(input, { ok: true, run, agent, messages }, text)
    },
    (caller) => printResult(input, { ok: true, ...identityOf(caller), messages: [] }, EMPTY_INBOX),
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

/** Prints what is queued in runs other than `run`; returns exit code 0. */
export async function printOtherQueues(
  input: Input,
  run = '',
  verb: 'queue' | 'run-queue' = 'queue',
): Promise<number> {
  // Not for scripts or agents, and not if a run was named.
  const isFixed = process.env['FORKHESTRA_RUN_ID'] || input.text('run') !== undefined
  if (isFixed || input.flag('json')) return 0
  const cwd = input.text('cwd')
  const option = cwd === undefined ? '' : ` --cwd ${cwd}`
  for (const line of await otherQueues(recordsFor(input), run, option, verb)) print(line)
  return 0
}
