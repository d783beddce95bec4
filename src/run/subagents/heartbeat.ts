import { deadHolders } from '../../queue/client.ts'
import type { QueueStore } from '../../queue/store.ts'
import type { Pushers } from './pushers.ts'
import type { TaskAttempt } from './task-attempt.ts'
import { reportLost } from './unreported-ends.ts'
import { remainsOf, runningIn, warnNotQueued } from './remains.ts'
import type { PoolContext } from './work-task.ts'

/** Renews the claims of all running attempts, and stops those that were cancelled or lost. */
export async function sendHeartbeats(
  attempts: readonly TaskAttempt[],
  store: QueueStore,
): Promise<void> {
  // In parallel, so that the store can write them in one transaction.
  await Promise.all(attempts.map((attempt) => sendHeartbeat(attempt, store)))
}

async function sendHeartbeat(attempt: TaskAttempt, store: QueueStore): Promise<void> {
  const beat = await store.beat(attempt.claim)
  if (beat.isOurs) return
  const isCancelled = beat.reason === 'cancelled'
  attempt.stop(
    isCancelled
      ? { class: 'cancelled', error: beat.why }
      : { class: 'lost', error: 'another worker has it' },
  )
}

/** Sends heartbeats, then fails the tasks whose worker is gone. */
export async function checkWorkers(
  attempts: readonly TaskAttempt[],
  context: PoolContext,
  pushers: Pushers,
): Promise<void> {
  const { store, plan } = context
  // Heartbeats first: the machine may have slept for longer than a claim lasts.
  await sendHeartbeats(attempts, store)
  const own = attempts.map(({ claim }) => claim.task)
  const ids = own.map(({ id }) => id)
  const tasks = [...own, ...(await runningIn(context, ids))]
  const left = await remainsOf(tasks, context, pushers)
  const expired = await store.expire(plan.run, await deadHolders(store, plan.run), left)
  warnNotQueued(expired, context)
  // Attempts that still run here report their own end, with what they cost.
  const others = expired.filter(({ task }) => !ids.includes(task.id))
  reportLost(others, context, pushers.main)
}
