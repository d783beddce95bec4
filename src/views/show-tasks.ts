import { formatDuration } from '../base/durations.ts'
import { printable } from '../base/terminal/printable.ts'
import type { LeftInQueue, Spent } from '../records/events/schema.ts'
import { formatCost } from './amounts.ts'
import type { NextStep } from './notes.ts'
import { orphansOption, WIDEST_CELL, type RecordedRun } from './runs.ts'
import { renderTable, type Cell } from './table.ts'
import { cut, type Paint } from './terminal/columns.ts'
import { cwdOption } from './describe.ts'
import { wrapWords, type Layout } from './layout.ts'

export interface ShownTask {
  readonly name: string
  readonly id: string
  readonly parent: string
  readonly state: string
  readonly attempts: number
  readonly agent?: string | undefined
  readonly class?: string | undefined
  readonly error?: string | undefined
  /** Cost of all attempts; null if unknown. */
  readonly costUsd?: number | null | undefined
  readonly billing?: Spent['billing']
  readonly ms?: number | undefined
  /** Git worktrees with its work, including that of earlier attempts. */
  readonly worktrees?: readonly string[] | undefined
  readonly notQueued?: readonly string[] | undefined
}

export interface ShownTasks {
  readonly tasks: readonly ShownTask[]
  readonly queue?: Pick<LeftInQueue, 'queued' | 'unread'>
  readonly problem?: string
}

/** A failed task, and the command that pushes it again. */
export interface FailedTask {
  readonly name: string
  readonly push: string
}

/** The order of the list: states that may need action come first. */
const STATES = ['running', 'ready', 'queued', 'failed', 'done']
const LISTED = 20
const LOOKS: Readonly<Record<string, keyof Paint>> = { failed: 'red', done: 'green' }

export function renderTaskSection(
  { id }: RecordedRun,
  { tasks, problem }: ShownTasks,
  layout: Layout,
): string[] {
  if (problem !== undefined) return ['', ...wrapWords(printable(`Tasks: ${problem}`), layout)]
  const counts = STATES.flatMap((state) => {
    const count = tasks.filter((task) => task.state === state).length
    return count === 0 ? [] : [`${count} ${state}`]
  })
  const sorted = tasks.toSorted((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state))
  const more = tasks.length - LISTED
  return [
    '',
    `${layout.paint.bold('Tasks')}: ${counts.join(', ')}`,
    ...renderTable(sorted.slice(0, LISTED).map(cells), {
      right: [3, 4],
      flexible: 1,
      indent: '  ',
      layout,
    }),
    ...(more > 0 ? [`  … ${more} more: forkhestra queue --all --run ${id}`] : []),
    ...tasks.flatMap(({ name, worktrees = [] }) =>
      worktrees.map((path) => printable(`Work of ${name}: ${path}`)),
    ),
  ]
}

function cells({ name, state, attempts, parent, agent, ...task }: ShownTask): Cell[] {
  const why = task.class === undefined ? '' : ` (${task.class}: ${task.error ?? ''})`
  const { notQueued = [] } = task
  const refused = notQueued.length === 0 ? '' : `, not queued after it: ${notQueued.join(', ')}`
  const who = agent === undefined ? '' : `${agent}, `
  return [
    name,
    { text: cut(`${state}${why}${refused}`, WIDEST_CELL), look: LOOKS[state] ?? 'yellow' },
    attempts > 1 ? `${attempts} attempts` : '',
    task.ms === undefined ? '' : formatDuration(task.ms),
    task.costUsd ? formatCost({ costUsd: task.costUsd, billing: task.billing }) : '',
    `${who}for ${parent}`,
  ]
}

export function nextForTasks(
  run: RecordedRun,
  { tasks, queue = { queued: 0, unread: 0 } }: ShownTasks,
  here?: string,
  again: readonly FailedTask[] = [],
): NextStep[] {
  const where = cwdOption(run.state.cwd, here)
  const nexts: NextStep[] = []
  // A task that failed with `precondition` was never started, so it printed nothing.
  const failed = tasks.findLast(
    ({ state, attempts, ...task }) =>
      state === 'failed' && attempts > 0 && task.class !== 'precondition',
  )
  if (failed !== undefined) {
    const { name } = failed
    nexts.push([`forkhestra logs ${run.id} --task ${name}${where}`, `what ${name} printed`])
  }
  for (const { name, push } of again) nexts.push([push, `push ${name} again`])
  if (queue.queued > 0) {
    const isNew = tasks.some(({ state }) => state === 'queued')
    nexts.push([
      `forkhestra run-queue --run ${run.id}${where}${orphansOption(run)}`,
      isNew ? 'start the queued tasks' : 'continue with the remaining tasks',
    ])
  }
  if (queue.unread > 0) nexts.push([`forkhestra check --run ${run.id}${where}`, 'read the inbox'])
  if (tasks.some(({ worktrees = [] }) => worktrees.length > 0))
    nexts.push(['git worktree list', 'unmerged work of tasks'])
  return nexts
}
