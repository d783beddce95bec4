import { deadHands } from '../queue/desk.ts'
import type { QueueStore } from '../queue/store.ts'
import type { Pushers } from './pushers.ts'
import type { TaskAttempt } from './task-attempt.ts'
import { tellLost } from './untold-ends.ts'
import { leftOf, runningIn, tellUnfollowed } from './what-is-left.ts'
import type { CrewContext } from './work-task.ts'

/** Signs of life for all that are at work; who was told to stop learns it by that. */
export async function beatAll(attempts: readonly TaskAttempt[], store: QueueStore): Promise<void> {
  // All at once, so that the store can write them together.
  await Promise.all(attempts.map((attempt) => beatOne(attempt, store)))
}

async function beatOne(attempt: TaskAttempt, store: QueueStore): Promise<void> {
  const beat = await store.beat(attempt.claim)
  if (beat.isOurs) return
  const isTold = beat.reason === 'cancelled'
  attempt.stop(
    isTold
      ? { class: 'cancelled', error: beat.why }
      : { class: 'lost', error: 'another worker has it' },
  )
}

/** The same, and a look at what has no worker any more. */
export async function lookAround(
  attempts: readonly TaskAttempt[],
  context: CrewContext,
  pushers: Pushers,
): Promise<void> {
  const { store, plan } = context
  // In this order: the machine may have slept for longer than a claim holds.
  await beatAll(attempts, store)
  const own = attempts.map(({ claim }) => claim.task)
  const ids = own.map(({ id }) => id)
  const tasks = [...own, ...(await runningIn(context, ids))]
  const left = await leftOf(tasks, context, pushers)
  const expired = await store.expire(plan.run, await deadHands(store, plan.run), left)
  tellUnfollowed(expired, context)
  // Those that are still worked at here tell of it themselves, with what they cost.
  const others = expired.filter(({ task }) => !ids.includes(task.id))
  tellLost(others, context, pushers.main)
}
