import { basename } from 'node:path'
import { errorWithHint } from '../../base/errors.ts'
import { statOf } from '../../base/files.ts'
import type { RunBrief } from '../../records/journal/runs.ts'
import type { QueueSummary, Unreadable } from '../../queue/store.ts'
import { acknowledgedIn } from '../../queue/sqlite/side-files.ts'
import { readSummary } from '../../queue/sqlite/summary.ts'
import { missingStore } from '../queue/store.ts'
import { hasOrphans } from '../orphans.ts'
import { storePath } from '../queue/store-path.ts'
import { openIn } from './unfinished-queues.ts'

/** A run with what is in its queue. */
export interface QueuedBrief extends Omit<RunBrief, 'status'> {
  /** Of one without steps, `open`: tasks have not ended; `unknown`: they cannot be read. */
  readonly status: RunBrief['status'] | 'open' | 'unknown'
  /** Absent where it never had any, or where they cannot be read. */
  readonly counts?: QueueSummary
  /** Why they cannot be read. */
  readonly unreadable?: string
  /** Whether it is dead, and processes of it are alive. */
  readonly hasOrphans?: boolean
}

export function withQueue(run: RunBrief): QueuedBrief {
  const isLeft = run.status === 'dead' && run.foreign === undefined && hasOrphans(run.id)
  return { ...withCounts(run), ...(isLeft ? { hasOrphans: true } : {}) }
}

function withCounts(run: RunBrief): QueuedBrief {
  // What others put into a database is not even opened.
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

/** A run without steps is what its queue is; what was done when pushed again has not failed. */
function statusOf(run: RunBrief, counts: QueueSummary): QueuedBrief['status'] {
  const { status } = run
  if (!isShownByQueue(run)) return status
  if (openIn(counts) > 0) return status === 'dead' ? 'dead' : 'open'
  return counts.failed > counts.redone ? 'failed' : 'complete'
}

function isShownByQueue({ state, holder }: RunBrief): boolean {
  return state.steps.length === 0 && holder === undefined
}
