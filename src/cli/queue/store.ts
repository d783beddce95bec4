import { join } from 'node:path'
import { statOf } from '../../base/files.ts'
import { readPlan } from '../../journal/read-run.ts'
import type { Plan } from '../../plan/plan.ts'
import { DEFAULT_LIMITS, type Limits } from '../../queue/limits.ts'
import { openSqliteStore } from '../../queue/sqlite-store.ts'
import type { QueueStore } from '../../queue/store.ts'

const STORE = 'queue.sqlite'

/** Where the queues of a run are: in its record, which all its processes can reach. */
export function storePath(record: string): string {
  return join(record, STORE)
}

/** Whether a run has queues: most have none. */
export function hasStore(record: string): boolean {
  return statOf(storePath(record)) !== undefined
}

/** Opens them, with the same limits in all processes of the run: those of its plan. */
export function openStoreOf(record: string): Promise<QueueStore> {
  return openStore(record, planIn(record))
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

function limitsOf({ queueLimits = {} }: Partial<Plan>): Limits {
  const { depth, running, queued, messageBytes } = DEFAULT_LIMITS
  return {
    depth: queueLimits.depth ?? depth,
    running: queueLimits.running ?? running,
    queued: queueLimits.queued ?? queued,
    messageBytes: queueLimits.messageBytes ?? messageBytes,
  }
}
