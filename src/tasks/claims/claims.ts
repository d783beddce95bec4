import { applyChanges } from '../text/changes.ts'
import { change, type Draft } from '../store/change.ts'
import { isArchived } from '../archive.ts'
import { freeDeadClaims } from './dead-claims.ts'
import { findTask, readTaskOrThrow, UnreadableTask, type TaskText } from '../find.ts'
import { UserError } from '../../base/errors.ts'
import { localTime } from '../../base/local-time.ts'
import { checkoutOf } from '../store/checkouts.ts'
import { CannotChange } from '../text/frontmatter.ts'
import { judgeTasks, scanGraph, type ScannedGraph } from '../list.ts'
import { blockingClaims, isHeldByAnother, type Caller } from './owner.ts'
import type { TaskFolders } from '../folders.ts'
import { describeClaim, Graph, type Readiness } from '../ready.ts'
import { Refused } from '../refused.ts'
import { scanTasks, type Broken, type Scan } from '../store/scan.ts'
import { extendLeases } from './leases.ts'
import { endClaim, makeClaim } from './claim-changes.ts'
import type { Claim } from '../store/state-shape.ts'
import { parseTask, type Task } from '../task.ts'
import { makeBrief, type Brief } from '../view.ts'

/** Another owner holds the task. */
class ClaimedError extends Refused {
  override readonly exitCode = 3
}

export function claimedError(id: string, claim: Claim, folders: TaskFolders): Refused {
  const words = `${id} is ${describeClaim(claim, folders)}`
  if (claim.settled !== undefined) {
    const hint = `Merge it, or release it: forge-tasks release ${id}`
    return new ClaimedError(`${words}, since ${localTime(claim.at)}.`, hint)
  }
  const { run, until } = claim
  const end = run === undefined ? until && localTime(until) : 'its iteration ends'
  return new ClaimedError(
    `${words} since ${localTime(claim.at)}${end === undefined ? '' : `, until ${end}`}.`,
  )
}

export interface ClaimOptions extends Caller {
  readonly leaseMs?: number | undefined
}

/** The first ready task, or why there is none. */
export interface NextTask {
  readonly brief: Brief | undefined
  readonly waiting: readonly Readiness[]
  readonly broken: readonly Broken[]
  readonly advice?: string | undefined
}

/** Finds the next task; with `claim`, claims it atomically. */
export function nextTask(folders: TaskFolders, options: ClaimOptions, claim: boolean): NextTask {
  const { task, scan, ...rest } = claim
    ? claimNext(folders, options)
    : pickNext(folders, judgeTasks(folders, options))
  return { ...rest, brief: task === undefined ? undefined : makeBrief(folders, task.id, scan) }
}

function claimNext(folders: TaskFolders, options: ClaimOptions): Picked {
  return change(folders, (draft) => {
    draft.state = extendLeases(draft.state, options.owner, options.now)
    freeDeadClaims(draft, folders, options.now)
    const take = (found: TaskText) => takeTask(draft, found, folders, options)
    return pickNext(folders, scanGraph(folders, options), take)
  })
}

interface Picked extends Omit<NextTask, 'brief'> {
  readonly task: Task | undefined
  readonly scan: Scan
}

/** Skips ready tasks whose files cannot be changed. */
function pickNext(
  folders: TaskFolders,
  { scan, graph }: ScannedGraph,
  take: (found: TaskText) => Task = ({ task }) => task,
): Picked {
  const broken = [...scan.broken]
  for (const { file } of graph.ready()) {
    try {
      const found = readTaskOrThrow(folders.tasks, file)
      // An editor does not wait for the lock.
      if (found.task.status !== 'To Do') continue
      return { task: take(found), scan, waiting: [], broken }
    } catch (error) {
      // Reported, so that a person can fix the file.
      if (!(error instanceof CannotChange || error instanceof UnreadableTask)) throw error
      broken.push({ file, line: 1, problem: error.message })
    }
  }
  const waiting = graph.sorted(() => true).map((each) => graph.judge(each))
  const advice = graph.advise(waiting.map(({ task }) => task))
  return { task: undefined, scan, waiting: waiting.map(whyWaiting), broken, advice }
}

function whyWaiting(readiness: Readiness): Readiness {
  if (!readiness.isReady) return readiness
  return { ...readiness, isReady: false, reasons: ['its file cannot be changed'] }
}

/** Claims one task; throws if another owner holds it or it is not ready. */
export function claimTask(folders: TaskFolders, word: string, options: ClaimOptions): Task {
  const { owner, now } = options
  const result = change(folders, (draft): Task | Refused => {
    draft.state = extendLeases(draft.state, owner, now)
    freeDeadClaims(draft, folders, now)
    const found = findTask(folders, word)
    const claims = blockingClaims(draft.state, owner, folders, now)
    return whyNotClaimable(found, claims, folders) ?? takeTask(draft, found, folders, options)
  })
  if (result instanceof Refused) throw result
  return result
}

function whyNotClaimable(
  found: TaskText,
  claims: ReadonlyMap<string, Claim>,
  folders: TaskFolders,
): Refused | undefined {
  const { task } = found
  const { id, status } = task
  if (isArchived(found, folders)) {
    return new Refused(`${id} is archived.`, `Unarchive it first: forge-tasks unarchive ${id}`)
  }
  const claim = claims.get(id)
  if (claim !== undefined) return claimedError(id, claim, folders)
  if (status === 'Done' || status === 'Blocked') {
    return new Refused(
      `${id} is ${status}.`,
      `Reopen it first: forge-tasks edit ${id} --status todo`,
    )
  }
  const graph = new Graph(folders, scanTasks(folders), claims)
  const waits = graph.judge({ ...task, status: 'To Do' }).reasons
  if (waits.length === 0) return undefined
  return new Refused(`${id} is not ready: it ${waits.join(', ')}.`, 'See: forge-tasks next')
}

export interface Released {
  readonly task: Task
  /** What was done, or why nothing had to be done. */
  readonly message: string
}

export interface ReleaseOptions extends ClaimOptions {
  /** Called when this ends the claim of another owner. */
  readonly onClaimEnded?: (id: string, claim: Claim) => void
}

/** Ends any claim on a task and sets it from In Progress back to To Do. */
export function releaseTask(
  folders: TaskFolders,
  word: string,
  { owner, now, onClaimEnded }: ReleaseOptions,
): Released {
  return change(folders, (draft) => {
    const found = findTask(folders, word)
    const claim = draft.state.claims[found.task.id]
    if (isHeldByAnother(claim, { owner, now })) onClaimEnded?.(found.task.id, claim)
    const end = { outcome: 'released', now, by: owner.name } as const
    draft.state = endClaim(draft.state, found.task.id, end)
    const there = claim === undefined ? undefined : checkoutOf(claim, folders)
    if (there !== undefined && there !== folders) reopenIn(draft, there, found.task.id, now)
    return { task: reopen(draft, found, now), message: describeRelease(found.task, claim) }
  })
}

function describeRelease({ id, status }: Task, claim: Claim | undefined): string {
  if (status === 'Done') return `${id} stays Done.`
  if (status === 'Blocked') {
    return `${id} stays Blocked. To reopen it: forge-tasks edit ${id} --status todo`
  }
  const isHeld = status === 'In Progress' || claim !== undefined
  return isHeld ? `Released ${id}` : `${id} is already To Do and was not claimed.`
}

function reopen(draft: Draft, { task, text, path }: TaskText, now: Date): Task {
  if (task.status !== 'In Progress') return task
  const changed = applyChanges(text, { status: 'To Do', assignee: '' }, now)
  draft.write(path, changed)
  return parseTask(changed, task.file)
}

function reopenIn(draft: Draft, there: TaskFolders, id: string, now: Date): void {
  try {
    reopen(draft, findTask(there, id), now)
  } catch (error) {
    // The task no longer exists there, or its file is broken.
    if (!(error instanceof UserError)) throw error
  }
}

function takeTask(
  draft: Draft,
  { task, text, path }: TaskText,
  folders: TaskFolders,
  { owner, leaseMs }: ClaimOptions,
): Task {
  // Waiting for the lock may have taken a while.
  const now = new Date()
  const changed = applyChanges(text, { status: 'In Progress', assignee: owner.name }, now)
  const claim = makeClaim(owner, folders, now, leaseMs)
  const { state } = draft
  draft.state = { ...state, claims: { ...state.claims, [task.id]: claim } }
  if (changed !== text) draft.write(path, changed)
  return parseTask(changed, task.file)
}
