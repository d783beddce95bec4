import { renameSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { lstatOf } from '../../base/files.ts'
import { withLock } from '../../base/lock.ts'
import { readPlan } from '../../journal/read-run.ts'
import { holderOf } from '../../journal/run-lock.ts'
import type { Plan } from '../../plan/plan.ts'
import { DEFAULT_LIMITS, type Limits } from '../../queue/limits.ts'
import { QueueError } from '../../queue/refusal.ts'
import { acknowledgedIn } from '../../queue/sqlite/count.ts'
import { setAside } from '../../queue/sqlite/set-aside.ts'
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

/**
 * Opens them, with the same limits in all processes of the run: those of its plan. A store that was
 * deleted during a run is reported by the run itself, and another one takes its place.
 */
export async function openStoreOf(
  record: string,
  plan: Partial<Plan> = planIn(record),
): Promise<QueueStore> {
  if (!hasStore(record) && wasUsed(record)) {
    if (!isHeld(record)) throw missingStore(record)
    await renewStore(record, () => !hasStore(record))
  }
  return openStoreAt(storePath(record), record, plan)
}

/** Refuses to find nothing in a run whose store was deleted, unless the run itself reports that. */
export function refuseMissing(record: string): void {
  if (!isHeld(record) && wasUsed(record)) throw missingStore(record)
}

/** Before a run goes on: refuses a store that has lost something or is damaged. */
export async function refuseUnsound(run: string, record: string): Promise<void> {
  if (!hasStore(record)) {
    if (wasUsed(record)) throw missingStore(record)
    return
  }
  const store = await openStoreOf(record)
  try {
    const [detail] = await store.verify(run)
    if (detail === undefined) return
    throw new QueueError({ kind: 'broken', place: storePath(record), detail })
  } finally {
    await store.close()
  }
}

/** Puts an empty store in the place of what is there, which is kept; returns where. */
export async function renewStore(
  record: string,
  isWanted = () => true,
): Promise<string | undefined> {
  const place = storePath(record)
  const fresh = `${place}.new-${process.pid}`
  try {
    await (await openStoreAt(fresh, record, {})).close()
    return withLock(`${place}.lock`, () => {
      if (!isWanted()) return undefined
      const kept = setAside(place)
      renameSync(fresh, place)
      return kept
    })
  } finally {
    for (const end of ['', '-wal', '-shm']) rmSync(fresh + end, { force: true })
  }
}

export function missingStore(record: string): QueueError {
  return new QueueError({ kind: 'missing', place: storePath(record) })
}

function isHeld(record: string): boolean {
  return (holderOf(record)?.life ?? 'dead') !== 'dead'
}

/** Whether a store was there once, as the record tells. */
function wasUsed(record: string): boolean {
  if (acknowledgedIn(storePath(record)) > 0) return true
  const types = ['phase_ended', 'task_started', 'task_ended', 'crew_started'] as const
  for (const event of readEventsOf(record, types)) {
    const isWithout = event.type === 'phase_ended' && event.phase === 'teardown'
    if (!isWithout || event.pushed.length > 0) return true
  }
  return false
}

/** Of a record that somebody has half deleted nothing is known, and the usual limits hold. */
export function planIn(record: string): Partial<Plan> {
  try {
    return readPlan(record)?.plan ?? {}
  } catch {
    return {}
  }
}

function openStoreAt(place: string, record: string, plan: Partial<Plan>): Promise<QueueStore> {
  return openSqliteStore(place, {
    limits: limitsOf(plan),
    run: basename(record),
    wasUsed: () => place === storePath(record) && wasUsed(record),
  })
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
