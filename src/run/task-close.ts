import { awakeMs } from '../base/awake.ts'
import { errorText } from '../base/errors.ts'
import type { Worktree } from '../events/schema.ts'
import { QueueError } from '../queue/refusal.ts'
import type { Later, Settled } from '../queue/store.ts'
import type { Claim, End, FollowUp } from '../queue/task.ts'
import { leftoverWords } from './family.ts'
import { fitted, roomFor } from './fit-end.ts'
import { afterTaskWords, notQueuedIn } from './not-queued.ts'
import type { Place } from './place.ts'
import type { Pushers } from './pushers.ts'
import { isTriedAgain } from './task-children.ts'
import { teardownOf } from './task-teardown.ts'
import { taskKey, type CrewContext, type Worked } from './work-task.ts'

/** An attempt whose agent and whose children are over. */
interface Closing {
  readonly claim: Claim
  readonly worked: Worked
  /** Name of the agent that has queued the task. */
  readonly parent: string
  readonly place: Place
  readonly pushers: Pushers
  /** By `awakeMs()`. */
  readonly began: number
}

/** What the end of an attempt needs of those it works with. */
export interface Closers {
  /** Ends the attempt in the store, and queues what follows the task. */
  settle(end: End, later?: Later, follow?: readonly FollowUp[]): Promise<Settled>
  /** Does something with a store that may be in trouble for a while. */
  patiently<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Ends an attempt: what it has left running, its worktree, its teardown, and itself in the store. */
export async function closeTask(
  closing: Closing,
  crew: Closers,
  context: CrewContext,
  isOver: () => void,
): Promise<void> {
  const { claim, pushers } = closing
  await endLeftovers(claim, context)
  const { end, left } = await finish(closing, crew, context)
  const follow = await crew.patiently(() => teardownOf(claim.task, end.success, pushers))
  const settled = await settle(closing, { end, follow }, crew, context).catch((error: unknown) => {
    tellUnkept(claim, end, error, context)
    throw error
  })
  isOver()
  const isFollowed = follow.length > 0 && settled === 'ended'
  const last = isFollowed ? await crew.patiently(() => tellUnfollowed(claim, end, context)) : end
  if (settled !== 'fenced') tell(closing, last, settled === 'retrying', left, context)
  else await crew.patiently(() => tellFenced(closing, left, context))
}

/** The end as the store has it, which knows what was refused. */
async function tellUnfollowed(
  { task: { id, name } }: Claim,
  end: End,
  { store, plan, ports }: CrewContext,
): Promise<End> {
  const { notQueued } = (await store.task(plan.run, id))?.end ?? {}
  for (const text of afterTaskWords(name, notQueued)) ports.emit({ type: 'warning', text })
  return { ...end, notQueued }
}

/** What cannot be written is said: nobody will find it anywhere else. */
function tellUnkept({ task }: Claim, end: End, error: unknown, { ports }: CrewContext): void {
  if (!(error instanceof QueueError)) return
  const words = end.success ? end.output : `failed (${end.class}): ${end.error}`
  const text = `the end of task ${task.name} could not be written (${errorText(error)}), and it will count as lost. What it has said:\n${words}`
  ports.emit({ type: 'warning', text })
}

/** What its agent has left running would write into what is looked at next. */
async function endLeftovers(claim: Claim, { family, ports }: CrewContext): Promise<void> {
  const leftovers = await family.endTask(taskKey(claim), ports.force)
  if (leftovers.length === 0) return
  const text = `task ${claim.task.name} has left running, now ended: ${leftoverWords(leftovers)}`
  ports.emit({ type: 'warning', text })
}

/** Its end, with the words about the worktrees in which work is left. */
async function finish(
  { claim, worked }: Closing,
  crew: Closers,
  { sites, ports }: CrewContext,
): Promise<{ end: End; left: Worktree | undefined }> {
  const { task, attempt } = claim
  const left = await crew.patiently(() => sites.leave(task, isTriedAgain(worked, claim)))
  const isIsolated = task.options.isolation === 'worktree'
  const earlier = isIsolated && attempt > 1 ? sites.earlier(task, attempt) : ''
  const words = [...left.map((each) => each.words), earlier].filter((text) => text !== '')
  const raw = withWords(worked.end, words.join('\n'))
  // It is kept in the record, like all that agents print.
  return { end: ports.mask?.(raw) ?? raw, left: left[0]?.worktree }
}

interface LastWords {
  readonly end: End
  readonly follow: readonly FollowUp[]
}

/** That the store refuses a result is no reason to lose it: it is cut. */
async function settle(
  closing: Closing,
  { end, follow }: LastWords,
  crew: Closers,
  context: CrewContext,
): Promise<Settled> {
  const { claim, worked } = closing
  try {
    return await crew.settle(end, worked.later, follow)
  } catch (error) {
    const room = roomFor(error)
    if (room === undefined) throw error
    const whole = `forkhestra logs ${context.plan.run} --task ${claim.task.name}`
    return settle(closing, { end: fitted(end, room, whole), follow }, crew, context)
  }
}

/** It was given up by somebody else; where he has not told of it, what it has cost is told here. */
async function tellFenced(
  closing: Closing,
  left: Worktree | undefined,
  context: CrewContext,
): Promise<void> {
  const { ports, store, plan } = context
  const { task, attempt } = closing.claim
  if (ports.queue!.endsTold().has(`${task.id} ${attempt}`)) return
  const now = await store.task(plan.run, task.id)
  const isAgain = now !== undefined && (now.state !== 'ended' || now.attempt > attempt)
  const lost = { success: false, class: 'lost', error: 'its worker is gone' } as const
  tell(closing, lost, isAgain, left, context)
}

function tell(
  { claim: { task }, worked: { turned, agent }, parent, place, began }: Closing,
  end: End,
  isAgain: boolean,
  left: Worktree | undefined,
  { ports }: CrewContext,
): void {
  ports.emit({
    type: 'task_ended',
    ...place,
    task: task.name,
    id: task.id,
    parent,
    agent,
    ...(end.success ? { success: true } : { success: false, class: end.class, error: end.error }),
    ...(isAgain ? { again: true } : {}),
    ms: Math.round(awakeMs() - began),
    outputBytes: turned?.outputBytes ?? 0,
    ...(turned?.usage === undefined ? {} : { usage: turned.usage }),
    ...(left === undefined ? {} : { worktree: left }),
    ...notQueuedIn(end),
  })
}

/** The result names where the work is. */
function withWords(end: End, words: string): End {
  if (words === '') return end
  const join = (text = '') => (text === '' ? words : `${text}\n\n${words}`)
  return end.success
    ? { ...end, output: join(end.output) }
    : { ...end, partialOutput: join(end.partialOutput) }
}
