import { join } from 'node:path'
import { lstatOf, statOf } from '../../base/files.ts'
import { readPlan } from '../../journal/read-run.ts'
import type { Plan } from '../../plan/plan.ts'
import { DEFAULT_LIMITS, type Limits } from '../../queue/limits.ts'
import { QueueError } from '../../queue/refusal.ts'
import { openSqliteStore } from '../../queue/sqlite-store.ts'
import type { QueueStore } from '../../queue/store.ts'
import { readEventsOf } from '../records/ended-iterations.ts'

const STORE = 'queue.sqlite'

/** Where the queues of a run are: in its record, which all its processes can reach. */
export function storePath(record: string): string {
  return join(record, STORE)
}

/** Whether a run has queues: most have none. */
export function hasStore(record: string): boolean {
  return lstatOf(storePath(record)) !== undefined
}

/** Opens them, with the same limits in all processes of the run: those of its plan. */
export async function openStoreOf(record: string): Promise<QueueStore> {
  refuseEmptied(record)
  return openStore(record, planIn(record))
}

/** An empty file would become a new store: where tasks were worked at, it is what is left of one. */
function refuseEmptied(record: string): void {
  const place = storePath(record)
  if (statOf(place)?.size !== 0 || statOf(`${place}-wal`) !== undefined) return
  const [first] = readEventsOf(record, ['task_started', 'task_ended'])
  if (first === undefined) return
  const detail = 'it is empty, although tasks of this run were worked at'
  throw new QueueError({ kind: 'broken', place, detail })
}

/** Of a record that somebody has half deleted nothing is known, and the usual limits hold. */
export function planIn(record: string): Partial<Plan> {
  try {
    return readPlan(record)?.plan ?? {}
  } catch {
    return {}
  }
}

export function openStore(record: string, plan: Partial<Plan>): Promise<QueueStore> {
  return openSqliteStore(storePath(record), { limits: limitsOf(plan) })
}

export function limitsOf({ queueLimits = {} }: Partial<Plan>): Limits {
  const { depth, running, queued, messageBytes } = DEFAULT_LIMITS
  return {
    depth: queueLimits.depth ?? depth,
    running: queueLimits.running ?? running,
    queued: queueLimits.queued ?? queued,
    messageBytes: queueLimits.messageBytes ?? messageBytes,
  }
}
