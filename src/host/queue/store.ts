import { renameSync, rmSync } from 'node:fs'
import { basename } from 'node:path'
import { Mask } from '../../base/secrets/mask.ts'
import { errorWithHint } from '../../base/errors.ts'
import { withLock } from '../../base/linux/lock.ts'
import { readEventsOf } from '../../records/journal/read-run.ts'
import { isDriven } from '../../records/journal/run-lock.ts'
import type { Plan } from '../../chain/plan/plan.ts'
import { DEFAULT_LIMITS, type QueueLimits } from '../../queue/limits.ts'
import { QueueError } from '../../queue/refusal.ts'
import { acknowledgedIn, setAside } from '../../queue/sqlite/side-files.ts'
import { openSqliteStore } from '../../queue/sqlite-store.ts'
import type { QueueStore } from '../../queue/store.ts'
import type { FrontEnd } from '../front-end.ts'
import { agentEnvironment } from '../own-folder.ts'
import { secretsOf } from '../secrets.ts'
import { planIn } from '../records/plan-in.ts'
import { hasStore, storePath } from './store-path.ts'

/**
 * Opens the queues of a run, with the limits of its plan. A store that was deleted during a run is reported
 * by the run itself, and a new one replaces it.
 */
export async function openStoreOf(
  record: string,
  env: FrontEnd['env'],
  plan: Partial<Plan> = planIn(record),
): Promise<QueueStore> {
  if (hasLostStore(record)) {
    if (!isDriven(record)) throw missingStore(record)
    await renewStore(record, env, () => !hasStore(record))
  }
  return openStoreAt(storePath(record), record, plan, env)
}

/** Throws if the store of a run was deleted; while the run is alive, that is a warning. */
export function refuseMissing(record: string, notice: FrontEnd['notice']): void {
  if (!hasLostStore(record)) return
  if (!isDriven(record)) throw missingStore(record)
  const gone = new QueueError({ kind: 'gone', place: storePath(record) })
  notice(`Warning: ${errorWithHint(gone).replaceAll('\n', ' ')}`)
}

/** Before a run resumes: throws if its store is damaged or has lost something. */
export async function refuseUnsound(
  run: string,
  record: string,
  env: FrontEnd['env'],
): Promise<void> {
  if (hasLostStore(record)) throw missingStore(record)
  if (!hasStore(record)) return
  const store = await openStoreOf(record, env)
  try {
    const [detail] = await store.verify(run)
    if (detail === undefined) return
    throw new QueueError({ kind: 'broken', place: storePath(record), detail })
  } finally {
    await store.close()
  }
}

/** Replaces the store by an empty one; returns where the old one is kept. */
export async function renewStore(
  record: string,
  env: FrontEnd['env'],
  isWanted = () => true,
): Promise<string | undefined> {
  const place = storePath(record)
  const fresh = `${place}.new-${process.pid}`
  try {
    await (await openStoreAt(fresh, record, {}, env)).close()
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

/** Checks again at the end, because another process may have created and used the store in the meantime. */
function hasLostStore(record: string): boolean {
  return !hasStore(record) && wasUsed(record) && !hasStore(record)
}

/** Whether the record shows that there was a store. */
function wasUsed(record: string): boolean {
  if (acknowledgedIn(storePath(record)) > 0) return true
  const types = ['phase_ended', 'task_started', 'task_ended', 'crew_started', 'run_ended'] as const
  for (const event of readEventsOf(record, types)) {
    const isTeardown = event.type === 'phase_ended' && event.phase === 'teardown'
    const isUse = event.type === 'run_ended' ? event.queue !== undefined : !isTeardown
    if (isUse || (isTeardown && event.pushed.length > 0)) return true
  }
  return false
}

function openStoreAt(
  place: string,
  record: string,
  plan: Partial<Plan>,
  env: FrontEnd['env'],
): Promise<QueueStore> {
  return openSqliteStore(place, {
    // Read from JSON, which has no undefined values.
    limits: (plan.queueLimits ?? {}) as Partial<QueueLimits>,
    run: basename(record),
    wasUsed: () => place === storePath(record) && wasUsed(record),
    isSecret: findSecrets(plan, env),
  })
}

/** Knows the secrets of the environment, which agents inherit, and of the plan. */
function findSecrets(plan: Partial<Plan>, outer: FrontEnd['env']): (text: string) => boolean {
  let mask: Mask | undefined
  return (text) => {
    const env = agentEnvironment(outer)
    mask ??= new Mask(hasSteps(plan) ? secretsOf(plan, env) : env)
    return mask.text(text) !== text
  }
}

/** Whether steps can be read from it. */
export function hasSteps(plan: Partial<Plan>): plan is Plan {
  return plan.root !== undefined && plan.recoveries !== undefined
}

export function messageLimitOf({ queueLimits }: Partial<Plan>): number {
  return queueLimits?.messageBytes ?? DEFAULT_LIMITS.messageBytes
}
