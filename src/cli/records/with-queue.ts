import { basename } from 'node:path'
import { counted } from '../../base/amounts.ts'
import { errorWithHint } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import type { RecordPlaces } from '../../journal/record-folder.ts'
import { holderOf } from '../../journal/run-lock.ts'
import { listOwnRuns, type RunBrief } from '../../journal/runs.ts'
import type { Glance, Unreadable } from '../../queue/glance.ts'
import { acknowledgedIn } from '../../queue/sqlite/count.ts'
import { glanceAt } from '../../queue/sqlite/glance.ts'
import { hasStore, missingStore, storePath } from '../queue/store.ts'
import { readEventsOf } from './ended-iterations.ts'

/** A run with what is in its queue. */
export interface QueuedBrief extends Omit<RunBrief, 'status'> {
  /** Of one without steps, `open`: tasks have not ended; `unknown`: they cannot be read. */
  readonly status: RunBrief['status'] | 'open' | 'unknown'
  /** Absent where it never had any, or where they cannot be read. */
  readonly counts?: Glance
  /** Why they cannot be read. */
  readonly unreadable?: string
}

export function withQueue(run: RunBrief): QueuedBrief {
  // What others put into a database is not even opened.
  if (run.foreign !== undefined && run.foreign !== 'no_id') return run
  const counts = countsOf(run)
  if (counts === undefined) return run
  if (!('why' in counts)) return { ...run, counts, status: statusOf(run, counts) }
  const status = isShownByQueue(run) ? 'unknown' : run.status
  return { ...run, unreadable: counts.why, status }
}

/** Undefined where nobody has queued anything. */
function countsOf({ folder, state }: RunBrief): Glance | Unreadable | undefined {
  const path = storePath(folder)
  if (statOf(path) !== undefined) return glanceAt(path, basename(folder))
  const isKnown = state.hasCrew === true || state.steps.some(({ isSetUp }) => isSetUp)
  if (!isKnown && acknowledgedIn(path) === 0) return undefined
  return { why: errorWithHint(missingStore(folder)).replaceAll('\n', ' ') }
}

/** A run without steps is what its queue is. */
function statusOf(run: RunBrief, counts: Glance): QueuedBrief['status'] {
  const { status } = run
  if (!isShownByQueue(run)) return status
  if (openIn(counts) > 0) return status === 'dead' ? 'dead' : 'open'
  return counts.failed > 0 ? 'failed' : 'complete'
}

function isShownByQueue({ state, holder }: RunBrief): boolean {
  return state.steps.length === 0 && holder === undefined
}

function openIn({ queued, ready, running }: Glance): number {
  return queued + ready + running
}

/** Why the record of a run is not to be removed by the way; undefined where nothing speaks against it. */
export function whyWanted(folder: string): string | undefined {
  const path = storePath(folder)
  if (statOf(path) === undefined) return undefined
  const counts = glanceAt(path, basename(folder))
  if ('why' in counts) return 'its queue cannot be read'
  const open = openIn(counts)
  if (open > 0) return `${tasksAre(open)} queued in it`
  if (counts.unread > 0) {
    return `${counted(counts.unread, 'result')} ${counts.unread === 1 ? 'is' : 'are'} unread in it`
  }
  const [left] = worktreesOf(folder)
  return left === undefined ? undefined : `the work of a task is in ${left}`
}

function worktreesOf(folder: string): string[] {
  return [...readEventsOf(folder, ['task_ended'])].flatMap(({ worktree }) =>
    worktree?.isKept === true && statOf(worktree.path) !== undefined ? [worktree.path] : [],
  )
}

/** A line for each other run in whose queue something waits for a person. */
export function otherQueues(places: RecordPlaces, run: string, option = ''): string[] {
  // Nearly no run has a queue, and to read all of them takes longer than a short run.
  const hasQueue = (folder: string) => basename(folder) !== run && hasStore(folder)
  return listOwnRuns(places, hasQueue).flatMap(({ id, folder }) => {
    if (isDriven(folder)) return []
    const path = storePath(folder)
    const counts = glanceAt(path, basename(folder))
    const open = 'why' in counts ? 0 : openIn(counts)
    const command = `forkhestra queue --run ${id}${option}`
    return open === 0 ? [] : [`${tasksAre(open)} queued in run ${id}: ${command}`]
  })
}

function tasksAre(count: number): string {
  return `${counted(count, 'task')} ${count === 1 ? 'is' : 'are'}`
}

function isDriven(folder: string): boolean {
  const life = holderOf(folder)?.life
  return life !== undefined && life !== 'dead'
}
