import type { StepNode } from '../plan/plan.ts'
import { deadHands } from '../queue/desk.ts'
import type { QueueStore } from '../queue/store.ts'
import type { TaskAttempt } from './task-attempt.ts'
import { placeWords, tellLost } from './untold-ends.ts'
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

/** The same, and a look at what has no worker any more; `main` is the step in which it is told. */
export async function lookAround(
  attempts: readonly TaskAttempt[],
  context: CrewContext,
  main: StepNode | undefined,
): Promise<void> {
  const { store, plan, sites } = context
  // In this order: the machine may have slept for longer than a claim holds.
  await beatAll(attempts, store)
  const ids = attempts.map(({ claim }) => claim.task.id)
  const left = new Map(ids.map((id) => [id, placeWords(sites.siteOf(id))]))
  const expired = await store.expire(plan.run, await deadHands(store, plan.run), left)
  // Those that are still worked at here tell of it themselves, with what they cost.
  const others = expired.filter(({ task }) => !left.has(task.id))
  tellLost(others, context, main)
}
