import { counted } from '../../base/amounts.ts'
import { errorText, UserError } from '../../base/errors.ts'
import { printable } from '../../base/terminal/printable.ts'
import { recordPlaces } from '../../records/journal/record-folder.ts'
import { isNestedRun, readRuns, unreadableNewerThan } from '../../records/journal/runs.ts'
import type { Project } from '../../host/project.ts'
import { TaskDatabase } from '../../tasks/database.ts'
import type { Stats } from '../../tasks/stats.ts'
import { nextSteps, resumeSteps } from '../../views/next-steps.ts'
import { notesOn } from '../../views/notes.ts'
import { describeCounts, renderRuns } from '../../views/runs.ts'
import type { Input } from '../command.ts'
import { projectOf } from '../front-end.ts'
import { describeRun } from '../../host/records/describe-run.ts'
import { isOwnOrUnsigned } from '../../host/records/foreign.ts'
import { isPresentable } from '../../host/records/describe-run.ts'
import { withQueueState } from '../../host/records/with-queue.ts'
import type { QueuedBrief } from '../../host/records/describe-run.ts'

interface Status {
  readonly live: readonly QueuedBrief[]
  /** The newest run that has ended or is dead, and was not started by another run. */
  readonly last: QueuedBrief | undefined
  /** Newer runs whose record cannot be read. */
  readonly broken: readonly string[]
  /** The newest finished run whose queue still has tasks to start or to continue. */
  readonly filled: QueuedBrief | undefined
  readonly tasks: Stats | { readonly error: string }
}

export async function printStatus(input: Input): Promise<number> {
  const project = projectOf(input)
  const status = { ...readLastRuns(project), tasks: readProjectTasks(project.folder) }
  const now = Date.now()
  if (input.flag('json')) console.log(JSON.stringify(describe(status, now)))
  else console.log((await render(status, now)).map(printable).join('\n'))
  const isUnreadable = runsOf(status).some(({ unreadable }) => unreadable !== undefined)
  return 'error' in status.tasks || isUnreadable || status.broken.length > 0 ? 1 : 0
}

function runsOf({ live, last }: Status): readonly QueuedBrief[] {
  return last === undefined ? live : [...live, last]
}

function readLastRuns(project: Project): Omit<Status, 'tasks'> {
  const places = recordPlaces(project, process.env)
  const { runs } = readRuns(places)
  const readable = runs
    .filter((run) => isOwnOrUnsigned(run) && isPresentable(run))
    .map(withQueueState)
  const [live, over] = [readable.filter(isLive), readable.filter((run) => !isLive(run))]
  const outer = over.filter((run) => !isNestedRun(run, places))
  const last = outer.find(({ foreign }) => foreign === undefined) ?? outer[0]
  const broken = unreadableNewerThan(places, last?.id)
  return { live, last, broken, filled: over.find(hasTasksLeft) }
}

/** An open queue may have only tasks that were started already. */
function hasTasksLeft({ status, counts }: QueuedBrief): boolean {
  return status === 'open' || (counts?.queued ?? 0) > 0
}

function isLive({ status }: QueuedBrief): boolean {
  return status === 'running' || status === 'waiting'
}

/** Broken task files must not keep the runs from being shown. */
export function readProjectTasks(cwd: string): Status['tasks'] {
  try {
    return new TaskDatabase({ cwd }).stats()
  } catch (error) {
    if (!(error instanceof UserError)) throw error
    return { error: errorText(error) }
  }
}

function describe({ live, last, broken, tasks }: Status, now: number) {
  return {
    live: live.map((run) => describeRun(run, now)),
    last: last === undefined ? null : describeRun(last, now),
    broken,
    tasks,
  }
}

async function render(status: Status, now: number): Promise<string[]> {
  const { live, last, broken, tasks } = status
  const runs = runsOf(status)
  const rows = renderRuns(runs, now)
  const section = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? [`${title}: none`] : [`${title}:`, ...lines.map((line) => `  ${line}`)]
  return [
    ...section('Active runs', rows.slice(0, live.length)),
    ...section('Last run', rows.slice(live.length)),
    ...(last === undefined ? [] : notesOn(last.state).map(({ words }) => `    ${words}`)),
    ...(last === undefined ? [] : failedTasks(last)),
    ...runs.flatMap(({ id, unreadable }) =>
      unreadable === undefined ? [] : [`Queue of ${id}: ${unreadable}`],
    ),
    ...broken.map((id) => `The record of the newer run ${id} cannot be read`),
    `Tasks: ${describeProjectTasks(tasks)}`,
    ...(await nextCommands(status)).map((line) => `Next: ${line}`),
  ]
}

/** A run whose steps are complete may have failed tasks. */
function failedTasks({ id, state, counts }: QueuedBrief): string[] {
  if (counts === undefined || state.steps.length === 0) return []
  if (counts.failed <= (counts.redone ?? 0) + (counts.cancelled ?? 0)) return []
  return [`    its queue: ${describeCounts(counts)}; see: forkhestra show ${id}`]
}

export function describeProjectTasks(tasks: Status['tasks']): string {
  if ('error' in tasks) return `cannot be read: ${tasks.error}`
  const { total, ready, byStatus, broken } = tasks
  if (total === 0 && broken.length === 0) return 'none'
  const counts = [
    `${ready} ready`,
    `${byStatus['In Progress']} in progress`,
    `${byStatus.Blocked} blocked`,
  ].filter((words) => !words.startsWith('0 '))
  const open = total - byStatus.Done
  return [
    `${open} open${counts.length === 0 ? '' : ` (${counts.join(', ')})`}`,
    `${byStatus.Done} done`,
    ...(broken.length === 0 ? [] : [`${broken.length} unreadable (forge-tasks doctor)`]),
  ].join(', ')
}

const RESUMABLE: ReadonlySet<string> = new Set(['failed', 'stopped', 'dead'])

async function nextCommands({ live, last, filled, tasks }: Status): Promise<string[]> {
  const isReady = live.length === 0 && !('error' in tasks) && tasks.ready > 0
  return [
    ...live.flatMap((run) => nextSteps(run).slice(0, 1)).map(([command]) => command),
    ...(last !== undefined && RESUMABLE.has(last.status)
      ? await nextAfterFailure(last, live.length > 0)
      : []),
    ...(last === undefined ? [] : notesOn(last.state).map(({ next: [command] }) => command)),
    ...(filled === undefined ? [] : [`forkhestra run-queue --run ${filled.id}`]),
    ...(isReady ? ['forge-tasks list --ready'] : []),
  ]
}

async function nextAfterFailure(run: QueuedBrief, isBusy: boolean): Promise<string[]> {
  const show = `forkhestra show ${run.id}`
  // While another run is active, a resume would be refused.
  if (isBusy) return [show]
  // Failed tasks are not resumed; the user pushes them again.
  if (run.state.steps.length === 0 && run.status === 'failed') return nextPushes(run, show)
  const [resume] = resumeSteps(run, run.id)
  return [resume === undefined ? show : `${show}, then ${resume[0]}`]
}

async function nextPushes(run: QueuedBrief, show: string): Promise<string[]> {
  const { readFailedTasks } = await import('../../host/queue/failed-tasks.ts')
  const { shown, more } = await readFailedTasks(run)
  const [first, ...others] = shown.map(({ push }) => push)
  if (first === undefined) return [show]
  const all = `forkhestra queue --all --run ${run.id}`
  return [
    `${show}, then push what failed again: ${first}`,
    ...others,
    ...(more === 0 ? [] : [`${all} (${counted(more, 'more failed task')})`]),
  ]
}
