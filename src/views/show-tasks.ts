import { durationWords } from '../base/durations.ts'
import { printable } from '../base/printable.ts'
import type { LeftInQueue, Spent } from '../events/schema.ts'
import { costWords } from './amounts.ts'
import { shorten, type RecordedRun } from './runs.ts'
import { renderTable } from './table.ts'
import { cwdOption } from './words.ts'

/** A task of a run in a line. */
export interface TaskBrief {
  readonly name: string
  readonly id: string
  /** Name of the agent that has queued it. */
  readonly parent: string
  readonly state: string
  readonly attempts: number
  readonly agent?: string | undefined
  readonly class?: string | undefined
  readonly error?: string | undefined
  /** Of all attempts; null where nobody knows. */
  readonly costUsd?: number | null | undefined
  readonly billing?: Spent['billing']
  readonly ms?: number | undefined
  /** Git worktrees in which there is work of it, of earlier attempts, too. */
  readonly worktrees?: readonly string[] | undefined
  /** Names of what was to follow it, and was refused. */
  readonly notQueued?: readonly string[] | undefined
}

export interface ShownTasks {
  readonly tasks: readonly TaskBrief[]
  readonly queue?: LeftInQueue
  /** Why they cannot be shown. */
  readonly problem?: string
}

/** As they are listed: what a person may have to do something about comes first. */
const STATES = ['running', 'ready', 'queued', 'failed', 'done']
const LISTED = 20

/** The tasks of a run, for a person who comes back to it. */
export function renderTasks({ id }: RecordedRun, { tasks, problem }: ShownTasks): string[] {
  if (problem !== undefined) return ['', `Tasks: ${printable(problem)}`]
  const counts = STATES.flatMap((state) => {
    const count = tasks.filter((task) => task.state === state).length
    return count === 0 ? [] : [`${count} ${state}`]
  })
  const sorted = tasks.toSorted((a, b) => STATES.indexOf(a.state) - STATES.indexOf(b.state))
  const more = tasks.length - LISTED
  return [
    '',
    `Tasks: ${counts.join(', ')}`,
    ...renderTable(sorted.slice(0, LISTED).map(cells), new Set([3, 4])),
    ...(more > 0 ? [`  … ${more} more: forkhestra queue --all --run ${id}`] : []),
    ...tasks.flatMap(({ name, worktrees = [] }) =>
      worktrees.map((path) => `Work of ${name}: ${printable(path)}`),
    ),
  ]
}

function cells({ name, state, attempts, parent, agent, ...task }: TaskBrief): string[] {
  const why = task.class === undefined ? '' : ` (${task.class}: ${printable(task.error ?? '')})`
  const { notQueued = [] } = task
  const refused = notQueued.length === 0 ? '' : `, not queued after it: ${notQueued.join(', ')}`
  const who = agent === undefined ? '' : `${printable(agent)}, `
  return [
    `  ${name}`,
    shorten(`${state}${why}${refused}`),
    attempts > 1 ? `${attempts} attempts` : '',
    task.ms === undefined ? '' : durationWords(task.ms),
    task.costUsd ? costWords({ costUsd: task.costUsd, billing: task.billing }) : '',
    `${who}for ${parent}`,
  ]
}

/** What may come next for the tasks of a run. */
export function nextForTasks(
  run: RecordedRun,
  { tasks, queue }: ShownTasks,
  here?: string,
): (readonly [string, string])[] {
  const where = cwdOption(run.state.cwd, here)
  const failed = tasks.findLast(({ state, attempts }) => state === 'failed' && attempts > 0)
  return [
    ...(failed === undefined
      ? []
      : [
          [
            `forkhestra logs ${run.id} --task ${failed.name}${where}`,
            `what ${failed.name} printed`,
          ] as const,
        ]),
    ...(queue === undefined || queue.queued === 0
      ? []
      : [[`forkhestra run-queue --run ${run.id}${where}`, 'start what is queued'] as const]),
    ...(queue === undefined || queue.unread === 0
      ? []
      : [[`forkhestra check --run ${run.id}${where}`, 'read the inbox'] as const]),
    ...(tasks.some(({ worktrees = [] }) => worktrees.length > 0)
      ? [['git worktree list', 'work of tasks that nobody has merged'] as const]
      : []),
  ]
}
