import { basename } from 'node:path'
import { errorWithHint } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import { readRuns, type RunBrief } from '../../records/journal/runs.ts'
import type { QueueSummary, Unreadable } from '../../queue/store.ts'
import { acknowledgedIn } from '../../queue/sqlite/side-files.ts'
import { readSummary } from '../../queue/sqlite/summary.ts'
import { missingStore } from '../queue/store.ts'
import { hasOrphans } from '../orphans.ts'
import { storePath } from '../queue/store-path.ts'
import { isPresentable, type QueuedBrief } from './describe-run.ts'
import { isFamiliar } from './foreign.ts'
import { isChat } from './is-chat.ts'
import type { Places } from './place.ts'
import { openIn } from './unfinished-queues.ts'

/** The runs of a project, newest first, and the ids of unreadable records. */
export function readAllRuns(places: Places) {
  const { runs: all, broken: unread } = readRuns(places)
  const { shown = [], broken = [] } = Object.groupBy(all, (run) =>
    isPresentable(run) ? 'shown' : 'broken',
  )
  return {
    root: places.roots[0],
    runs: shown.map(withQueue),
    broken: [...unread, ...broken.map(({ id }) => id)],
  }
}

export function withQueue(run: RunBrief): QueuedBrief {
  const isLeft = run.status === 'dead' && run.foreign === undefined && hasOrphans(run.id)
  const isTalk = run.status !== 'complete' && isFamiliar(run) && isChat(run.folder)
  return {
    ...withCounts(run),
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

/** The status of a run without steps is that of its queue. A failed task that was redone does not count. */
function statusOf(run: RunBrief, counts: QueueSummary): QueuedBrief['status'] {
  const { status } = run
  if (!isShownByQueue(run)) return status
  if (openIn(counts) > 0) return status === 'dead' ? 'dead' : 'open'
  return counts.failed > counts.redone ? 'failed' : 'complete'
}

function isShownByQueue({ state, holder }: RunBrief): boolean {
  return state.steps.length === 0 && holder === undefined
}
