import { basename } from 'node:path'
import { errorWithHint } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { readUnreportedUsage } from '../../engines/native/conversation/history.ts'
import { spend, type RunState } from '../../records/events/state.ts'
import type { StepState } from '../../records/events/step-state.ts'
import { readRuns, type RunBrief } from '../../records/journal/runs.ts'
import type { QueueSummary, Unreadable } from '../../queue/store.ts'
import { acknowledgedIn } from '../../queue/sqlite/side-files.ts'
import { readSummary } from '../../queue/sqlite/summary.ts'
import { missingStore } from '../queue/store.ts'
import { hasOrphans } from '../orphans.ts'
import { storePath } from '../queue/store-path.ts'
import { conversationIn } from '../conversation-path.ts'
import { isPresentable, type QueuedBrief } from './describe-run.ts'
import { isOwnOrUnsigned } from './foreign.ts'
import { isChat } from './plan-in.ts'
import type { ProjectRecords } from './place.ts'
import { countOpen } from './unfinished-queues.ts'

/** The runs of a project, newest first, and the ids of unreadable records. */
export function readAllRuns(places: ProjectRecords) {
  const { runs: all, broken: unread } = readRuns(places)
  const { shown = [], broken = [] } = Object.groupBy(all, (run) =>
    isPresentable(run) ? 'shown' : 'broken',
  )
  return {
    root: places.roots[0],
    runs: shown.map(withQueueState),
    broken: [...unread, ...broken.map(({ id }) => id)],
  }
}

export function withQueueState(run: RunBrief): QueuedBrief {
  const isLeft = run.status === 'dead' && run.foreign === undefined && hasOrphans(run.id)
  const isTalk = run.status !== 'complete' && isOwnOrUnsigned(run) && isChat(run.folder)
  return {
    ...withCounts(withUnreportedUsage(run)),
    ...(isLeft ? { hasOrphans: true } : {}),
    ...(isTalk ? { isChat: true } : {}),
  }
}

function withCounts(run: RunBrief): QueuedBrief {
  // A foreign database is not even opened.
  if (run.foreign !== undefined && run.foreign !== 'no_id') return run
  const counts = countsOf(run)
  if (counts === undefined) return run
  if (!('why' in counts)) return { ...run, counts, status: statusOf(run, counts) }
  const status = isShownByQueue(run) ? 'unknown' : run.status
  return { ...run, unreadable: counts.why, status }
}

/** Undefined if nothing was ever queued. */
function countsOf({ folder, state }: RunBrief): QueueSummary | Unreadable | undefined {
  const path = storePath(folder)
  if (statOf(path) !== undefined) return readSummary(path, basename(folder))
  const isKnown = state.hasCrew === true || state.steps.some(({ isSetUp }) => isSetUp)
  if (!isKnown && acknowledgedIn(path) === 0) return undefined
  return { why: errorWithHint(missingStore(folder)).replaceAll('\n', ' ') }
}

/** The status of a run without steps is that of its queue. A failed task that was redone or cancelled does not count. */
function statusOf(run: RunBrief, counts: QueueSummary): QueuedBrief['status'] {
  const { status } = run
  if (!isShownByQueue(run)) return status
  if (countOpen(counts) > 0) return status === 'dead' ? 'dead' : 'open'
  return counts.failed > counts.redone + counts.cancelled ? 'failed' : 'complete'
}

function isShownByQueue({ state, holder }: RunBrief): boolean {
  return state.steps.length === 0 && holder === undefined
}

/** Adds what the native agents of a killed run had spent, which no event reports before a resume. */
function withUnreportedUsage(run: RunBrief): RunBrief {
  if (run.status !== 'dead' || run.foreign !== undefined) return run
  const state = run.state.steps.reduce((sum, step) => addUsageOf(step, sum, run.folder), run.state)
  return state !== run.state && isPresentable({ ...run, state }) ? { ...run, state } : run
}

function addUsageOf(step: StepState, state: RunState, folder: string): RunState {
  const { key, number, rounds: round, attempt, running } = step
  if (running === undefined) return state
  const place = {
    scope: key.split('/'),
    step: number,
    round,
    iteration: running.iteration,
    attempt,
  }
  const path = conversationIn(folder, place)
  const usage = path === undefined ? undefined : readUnreportedUsage(path)
  return usage === undefined ? state : spend(state, step, usage, false)
}
