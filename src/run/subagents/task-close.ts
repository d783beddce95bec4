import { awakeMs } from '../../base/awake.ts'
import { errorText } from '../../base/errors.ts'
import type { Worktree } from '../../records/events/schema.ts'
import { QueueError } from '../../queue/refusal.ts'
import type { RetryDelay, Settled } from '../../queue/store.ts'
import type { Claim, End, FollowUp } from '../../queue/task.ts'
import { describeLeftovers } from '../process/family.ts'
import type { Place } from '../place.ts'
import { warnNotQueued } from './lost-attempts.ts'
import { willBeRetried } from './task-children.ts'
import { notQueuedIn, resultLimit, truncateEnd } from './task-end.ts'
import { taskKey } from './work-task.ts'
import type { PoolContext, AttemptResult } from './pool-context.ts'

/** An attempt whose agent has ended. */
interface Closing {
  readonly claim: Claim
  readonly worked: AttemptResult
  /** Name of the agent that pushed the task. */
  readonly parent: string
  readonly place: Place
  /** Settles when the tasks that it pushed have ended. */
  readonly childrenEnd: () => Promise<void>
  /** By `awakeMs()`. */
  readonly began: number
}

export interface StoreServices {
  /** Ends the attempt in the store and queues its follow-up tasks. */
  settle(end: End, later?: RetryDelay, follow?: readonly FollowUp[]): Promise<Settled>
  /** Retries while the store fails. */
  withStoreRetries<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Ends an attempt: leftover processes, worktree, teardown, and its state in the store. */
export async function closeTask(
  closing: Closing,
  pool: StoreServices,
  context: PoolContext,
  isOver: () => void,
): Promise<void> {
  const { claim, worked, childrenEnd } = closing
  const { task } = claim
  const { store, plan, pushers } = context
  let { end } = worked
  let left: Worktree | undefined
  let follow: readonly FollowUp[]
  let settled: Settled
  try {
    await pool.withStoreRetries(childrenEnd)
    await endLeftovers(claim, context)
    ;({ end, left } = await finish(closing, pool, context))
    const { success } = end
    follow = await pool.withStoreRetries(() => pushers.followUps(task, success))
    settled = await settle(closing, end, follow, pool, context)
  } catch (error) {
    warnUnsaved(claim, end, error, context)
    throw error
  }
  isOver()
  if (follow.length > 0 && settled === 'ended') {
    // Only the store knows which follow-up tasks were refused.
    const known = await pool.withStoreRetries(() => store.task(plan.run, task.id))
    if (known !== undefined) warnNotQueued(known, context)
    end = { ...end, notQueued: known?.end?.notQueued }
  }
  if (settled !== 'fenced') emitEnded(closing, end, settled === 'retrying', left, context)
  else await pool.withStoreRetries(() => reportFenced(closing, left, context))
}

/** The warning carries the result, because it is saved nowhere else. */
function warnUnsaved({ task }: Claim, end: End, error: unknown, { ports }: PoolContext): void {
  if (!(error instanceof QueueError)) return
  const words = end.success ? end.output : `failed (${end.class}): ${end.error}`
  const text = `cannot save the result of task ${task.name} (${errorText(error)}); the task will count as lost. Its result:\n${words}`
  ports.emit({ type: 'warning', text })
}

/** Before the worktree is inspected, because leftover processes could still write to it. */
async function endLeftovers(claim: Claim, { family, ports }: PoolContext): Promise<void> {
  const leftovers = await family.endTask(taskKey(claim), ports.force)
  if (leftovers.length === 0) return
  const text = `task ${claim.task.name} left processes running, now ended: ${describeLeftovers(leftovers)}`
  ports.emit({ type: 'warning', text })
}

/** Adds to the end where work is left in worktrees. */
async function finish(
  { claim, worked }: Closing,
  pool: StoreServices,
  { openWorktrees, ports }: PoolContext,
): Promise<{ end: End; left: Worktree | undefined }> {
  const { task, attempt } = claim
  const left = await pool.withStoreRetries(() =>
    openWorktrees.leave(task, willBeRetried(worked, claim)),
  )
  const isIsolated = task.options.isolation === 'worktree'
  const earlier = isIsolated && attempt > 1 ? openWorktrees.describeEarlier(task, attempt) : ''
  const words = [...left.map((each) => each.description), earlier].filter((text) => text !== '')
  const raw = appendText(worked.end, words.join('\n'))
  // Masked because it is kept in the record.
  return { end: ports.mask(raw), left: left[0]?.worktree }
}

/** A result that the store refuses as too big is truncated. */
async function settle(
  { claim, worked: { later } }: Closing,
  end: End,
  follow: readonly FollowUp[],
  pool: StoreServices,
  { plan }: PoolContext,
): Promise<Settled> {
  try {
    return await pool.settle(end, later, follow)
  } catch (error) {
    const room = resultLimit(error)
    if (room === undefined) throw error
    const whole = `forkhestra logs ${plan.run} --task ${claim.task.name}`
    return pool.settle(truncateEnd(end, room, whole), later, follow)
  }
}

/** Another process has ended the attempt; unless it has reported that, the end is reported here, with the cost. */
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
  { claim: { task }, worked: { turned, agent }, parent, place, began }: Closing,
  end: End,
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

function appendText(end: End, words: string): End {
  if (words === '') return end
  const join = (text = '') => (text === '' ? words : `${text}\n\n${words}`)
  return end.success
    ? { ...end, output: join(end.output) }
    : { ...end, partialOutput: join(end.partialOutput) }
}
