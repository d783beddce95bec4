import { awakeMs } from '../../base/awake.ts'
import { errorText } from '../../base/errors.ts'
import type { Worktree } from '../../records/events/schema.ts'
import { QueueError } from '../../queue/refusal.ts'
import type { RetryDelay, Settled } from '../../queue/store.ts'
import type { TaskClaim, TaskEnd, FollowUp } from '../../queue/task.ts'
import { describeLeftovers } from '../process/run-processes.ts'
import type { Place } from '../place.ts'
import { warnNotQueued } from './lost-attempts.ts'
import { willBeRetried } from './task-children.ts'
import { notQueuedIn } from './task-end.ts'
import type { AttemptResult, PoolContext } from './pool-context.ts'

/** An attempt whose agent has ended. */
interface Closing {
  readonly claim: TaskClaim
  readonly result: AttemptResult
  /** Name of the agent that pushed the task. */
  readonly parent: string
  readonly place: Place
  /** Stops the tasks that it pushed, or waits for them. */
  readonly endChildren: () => Promise<void>
  /** By `awakeMs()`. */
  readonly began: number
}

export interface StoreServices {
  /** Ends the attempt in the store and queues its follow-up tasks. */
  settle(end: TaskEnd, later?: RetryDelay, follow?: readonly FollowUp[]): Promise<Settled>
  /** Retries while the store fails. */
  withStoreRetries<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Ends an attempt: leftover processes, worktree, teardown, and its state in the store. */
export async function closeAttempt(
  closing: Closing,
  pool: StoreServices,
  context: PoolContext,
  onOver: () => void,
): Promise<void> {
  const { claim, result, endChildren } = closing
  const { task } = claim
  const { store, plan, pushers } = context
  let { end } = result
  let left: Worktree | undefined
  let follow: readonly FollowUp[]
  let settled: Settled
  try {
    await pool.withStoreRetries(endChildren)
    await endLeftovers(claim, context)
    ;({ end, left } = await finish(closing, pool, context))
    const { success } = end
    follow = await pool.withStoreRetries(() => pushers.followUps(task, success))
    settled = await pool.settle(end, result.later, follow)
  } catch (error) {
    warnUnsaved(claim, end, error, context)
    throw error
  }
  onOver()
  if (follow.length > 0 && settled === 'ended') {
    // Only the store knows which follow-up tasks were refused.
    const known = await pool.withStoreRetries(() => store.task(plan.run, task.id))
    if (known !== undefined) warnNotQueued(known, context)
    end = { ...end, notQueued: known?.end?.notQueued }
  }
  if (settled !== 'fenced') emitEnded(closing, end, settled === 'retrying', left, context)
  else await pool.withStoreRetries(() => reportFenced(closing, left, context))
}

/** In the environment of every process that an attempt starts. */
export function taskKey({ task, attempt }: TaskClaim): string {
  return `${task.id}.${attempt}`
}

/** The warning carries the result, because it is saved nowhere else. */
function warnUnsaved(
  { task }: TaskClaim,
  end: TaskEnd,
  error: unknown,
  { ports }: PoolContext,
): void {
  if (!(error instanceof QueueError)) return
  const result = end.success ? end.output : `failed (${end.class}): ${end.error}`
  const text = `cannot save the result of task ${task.name} (${errorText(error)}); the task will count as lost. Its result:\n${result}`
  ports.emit({ type: 'warning', text })
}

/** Before the worktree is inspected, because leftover processes could still write to it. */
async function endLeftovers(claim: TaskClaim, { processes, ports }: PoolContext): Promise<void> {
  const leftovers = await processes.endTask(taskKey(claim), ports.force)
  if (leftovers.length === 0) return
  const text = `task ${claim.task.name} left processes running, now ended: ${describeLeftovers(leftovers)}`
  ports.emit({ type: 'warning', text })
}

/** Adds the location of work left in worktrees. */
async function finish(
  { claim, result }: Closing,
  pool: StoreServices,
  { openWorktrees, ports }: PoolContext,
): Promise<{ end: TaskEnd; left: Worktree | undefined }> {
  const { task, attempt } = claim
  const left = await pool.withStoreRetries(() =>
    openWorktrees.leave(task, willBeRetried(result, claim)),
  )
  const isIsolated = task.options.isolation === 'worktree'
  const earlier = isIsolated && attempt > 1 ? openWorktrees.describeEarlier(task, attempt) : ''
  const notes = [...left.map((each) => each.description), earlier].filter((text) => text !== '')
  const raw = appendText(result.end, notes.join('\n'))
  // Masked because it is kept in the record.
  return { end: ports.mask(raw), left: left[0]?.worktree }
}

/** Another process has ended the attempt. Reports the end and its cost, unless that process already has. */
async function reportFenced(
  closing: Closing,
  left: Worktree | undefined,
  context: PoolContext,
): Promise<void> {
  const { ports, store, plan } = context
  const { task, attempt } = closing.claim
  if (ports.queue!.reportedEnds().has(`${task.id} ${attempt}`)) return
  const now = await store.task(plan.run, task.id)
  const willRetry = now !== undefined && (now.state !== 'ended' || now.attempt > attempt)
  const lost = { success: false, class: 'lost', error: 'its worker is gone' } as const
  emitEnded(closing, lost, willRetry, left, context)
}

function emitEnded(
  { claim: { task }, result: { turned, agent }, parent, place, began }: Closing,
  end: TaskEnd,
  willRetry: boolean,
  left: Worktree | undefined,
  { ports }: PoolContext,
): void {
  ports.emit({
    type: 'task_ended',
    ...place,
    task: task.name,
    id: task.id,
    parent,
    agent,
    ...(end.success ? { success: true } : { success: false, class: end.class, error: end.error }),
    ...(willRetry ? { again: true } : {}),
    ms: Math.round(awakeMs() - began),
    outputBytes: turned?.outputBytes ?? 0,
    ...(turned?.usage === undefined ? {} : { usage: turned.usage }),
    ...(left === undefined ? {} : { worktree: left }),
    ...notQueuedIn(end),
  })
}

function appendText(end: TaskEnd, note: string): TaskEnd {
  if (note === '') return end
  const join = (text = '') => (text === '' ? note : `${text}\n\n${note}`)
  return end.success
    ? { ...end, output: join(end.output) }
    : { ...end, partialOutput: join(end.partialOutput) }
}
