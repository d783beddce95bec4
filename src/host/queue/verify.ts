import type { FinishedAttempt } from '../../queue/store.ts'
import { readEventsOf } from '../../records/journal/read-run.ts'
import { isDriven } from '../../records/journal/run-lock.ts'
import {
  findCaller,
  withQueueClient,
  type QueueCaller,
  type OpenQueue,
  type QueueRequest,
} from './caller.ts'
import { hasStore, storePath } from './store-path.ts'

/** The result of checking a run's queues; without a run or a queue, only the caller. */
type Verified =
  | { readonly run: string; readonly problems: readonly string[] }
  | { readonly run?: undefined; readonly caller: QueueCaller | undefined }

/** Checks against the record that every task ended once and no message was lost or delivered twice. */
export async function verifyQueue(request: QueueRequest): Promise<Verified> {
  const caller = findCaller(request)
  const problems = caller === undefined ? [] : problemsWithoutStore(caller)
  if (caller !== undefined && problems.length > 0) return { run: caller.run, problems }
  return withQueueClient<Verified>(
    request,
    'existing',
    async (opened) => ({ run: opened.run, problems: await problemsOf(opened) }),
    (known) => ({ caller: known }),
  )
}

function problemsWithoutStore({ record }: QueueCaller): string[] {
  if (hasStore(record)) return []
  const { reported } = readEnds(record)
  if (reported.length === 0) return []
  const gone = `the store ${storePath(record)} is missing, with everything that was queued or unread in it`
  return [gone, ...compareEvents(reported, [], false)]
}

async function problemsOf({ store, run, record }: OpenQueue): Promise<string[]> {
  // In this order, because an end is written to the store before the events.
  const { reported, isComplete } = readEnds(record)
  const problems = await store.verify(run)
  return [...problems, ...compareEvents(reported, await store.finishedAttempts(run), isComplete)]
}

/** The attempts whose end is in the events, and whether all ends must be there. */
function readEnds(record: string): { reported: string[]; isComplete: boolean } {
  const reported: string[] = []
  let isComplete = false
  const types = ['task_ended', 'run_ended', 'run_resumed', 'crew_started'] as const
  for (const event of readEventsOf(record, types)) {
    if (event.type === 'task_ended') reported.push(`${event.attempt} of task ${event.id}`)
    // A later process may have been killed before it wrote its events; the next one adds them.
    else isComplete = event.type === 'run_ended'
  }
  return { reported, isComplete: isComplete && !isDriven(record) }
}

function compareEvents(
  reported: readonly string[],
  over: readonly FinishedAttempt[],
  isComplete: boolean,
): string[] {
  const inStore = new Set(over.map(({ task, attempt }) => `${attempt} of task ${task}`))
  const inEvents = new Set<string>()
  const problems: string[] = []
  for (const attempt of reported) {
    if (inEvents.has(attempt))
      problems.push(`the events record the end of attempt ${attempt} twice`)
    inEvents.add(attempt)
    if (!inStore.has(attempt)) {
      problems.push(`the events record the end of attempt ${attempt}, but the store does not`)
    }
  }
  for (const attempt of isComplete ? inStore : []) {
    if (!inEvents.has(attempt)) {
      problems.push(`the store records the end of attempt ${attempt}, but the events do not`)
    }
  }
  return problems
}
