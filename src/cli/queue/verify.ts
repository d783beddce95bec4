import type { Over } from '../../queue/store.ts'
import type { Input } from '../command.ts'
import { readEventsOf } from '../records/ended-iterations.ts'
import { print } from '../tasks/print.ts'
import { findCaller, isDriven, withDesk, type Caller, type Opened } from './caller.ts'
import { hasStore, storePath } from './store.ts'

/** Proves from the records that every task ended once and no message was lost or delivered twice. */
export async function verifyQueue(
  input: Input,
  nothing: (caller?: Caller) => number,
): Promise<number> {
  const caller = findCaller(input)
  const problems = caller === undefined ? [] : problemsWithout(caller)
  if (problems.length > 0) return tell(input, caller!.run, problems)
  return withDesk(
    input,
    'looks',
    async (opened) => tell(input, opened.run, await problemsOf(opened)),
    nothing,
  )
}

function tell(input: Input, run: string, problems: readonly string[]): number {
  const ok = problems.length === 0
  if (input.flag('json')) print(JSON.stringify({ ok, run, problems }))
  else if (ok) print(`The queues of run ${run} are as their history says.`)
  for (const problem of input.flag('json') ? [] : problems) print(problem)
  return ok ? 0 : 1
}

/** Of a run without a store, which most have never had. */
function problemsWithout({ record }: Caller): string[] {
  if (hasStore(record)) return []
  const { told } = readEnds(record)
  if (told.length === 0) return []
  const gone = `the store ${storePath(record)} is gone, and what was queued or unread in it`
  return [gone, ...compareEvents(told, [], false)]
}

async function problemsOf({ store, run, record }: Opened): Promise<string[]> {
  // In this order: an end is in the store before it is told.
  const { told, isComplete } = readEnds(record)
  const problems = await store.verify(run)
  return [...problems, ...compareEvents(told, await store.over(run), isComplete)]
}

/** Whose end the events tell, and whether all ends must be among them. */
function readEnds(record: string): { told: string[]; isComplete: boolean } {
  const told: string[] = []
  let isComplete = false
  const types = ['task_ended', 'run_ended', 'run_resumed', 'crew_started'] as const
  for (const event of readEventsOf(record, types)) {
    if (event.type === 'task_ended') told.push(`${event.attempt} of task ${event.id}`)
    // Whoever came after the end may have been killed; who goes on makes up for it.
    else isComplete = event.type === 'run_ended'
  }
  return { told, isComplete: isComplete && !isDriven({ record }) }
}

/** What the events of the run say of the ends of attempts, against the store. */
function compareEvents(
  told: readonly string[],
  over: readonly Over[],
  isComplete: boolean,
): string[] {
  const inStore = new Set(over.map(({ task, attempt }) => `${attempt} of task ${task}`))
  const inEvents = new Set<string>()
  const problems: string[] = []
  for (const attempt of told) {
    if (inEvents.has(attempt)) problems.push(`the events tell the end of attempt ${attempt} twice`)
    inEvents.add(attempt)
    if (!inStore.has(attempt)) {
      problems.push(`the events tell the end of attempt ${attempt}, the store does not`)
    }
  }
  for (const attempt of isComplete ? inStore : []) {
    if (!inEvents.has(attempt)) {
      problems.push(`the store has the end of attempt ${attempt}, the events do not`)
    }
  }
  return problems
}
