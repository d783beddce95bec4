import { dirname } from 'node:path'
import { applyChanges } from '../text/changes.ts'
import { change, type Draft } from '../store/change.ts'
import { freeDead } from './dead-claims.ts'
import { findTask, readOrRefuse, Unusable, type TaskText } from '../find.ts'
import { UserError } from '../../base/errors.ts'
import { localTime } from '../../base/local-time.ts'
import { checkoutOf } from '../store/checkouts.ts'
import { CannotChange } from '../text/frontmatter.ts'
import { listUndone } from '../done.ts'
import { judgeTasks, makeGraph, type Asking, type Judged } from '../list.ts'
import { standing, isHeldByAnother } from './owner.ts'
import type { Places } from '../store/places.ts'
import { claimWords, Graph, type Readiness } from '../ready.ts'
import { Refused } from '../refused.ts'
import { forgetIndex } from '../store/index-file.ts'
import { scanTasks, type Broken } from '../store/scan.ts'
import { renew } from './leases.ts'
import { endClaim, endedBy, makeClaim } from './settle.ts'
import { readState, type Claim } from '../store/state.ts'
import { parseTask, type Task } from '../task.ts'

/** Somebody else holds the task. */
class Taken extends Refused {
  override readonly exitCode = 3
}

export function takenBy(id: string, claim: Claim, places: Places): Refused {
  const words = `${id} is ${claimWords(claim, places)}`
  if (claim.settled !== undefined) {
    const hint = `Merge it, or give it free: forge-tasks release ${id}`
    return new Taken(`${words}, since ${localTime(claim.at)}.`, hint)
  }
  const end = claim.run === undefined ? localUntil(claim) : 'its iteration ends'
  return new Taken(
    `${words} since ${localTime(claim.at)}${end === undefined ? '' : `, until ${end}`}.`,
  )
}

function localUntil({ until }: Claim): string | undefined {
  return until === undefined ? undefined : localTime(until)
}

export interface ClaimOptions extends Asking {
  readonly leaseMs?: number | undefined
}

/** The first ready task, if there is one, and what holds the others up if there is none. */
export interface Next {
  readonly task: Task | undefined
  readonly waiting: readonly Readiness[]
  readonly broken: readonly Broken[]
  /** What a person can do about it. */
  readonly advice?: string | undefined
}

/** Looks for the next task; with `claim` it is taken in the same moment, by nobody else. */
export function nextTask(places: Places, options: ClaimOptions, claim: boolean): Next {
  if (!claim) {
    return pickSurely(
      places,
      () => judgeTasks(places, options),
      ({ task }) => task,
    )
  }
  return change(places, (draft) => {
    draft.state = renew(draft.state, options.owner, options.now)
    freeDead(draft, places, options.now)
    const judge = () => {
      const scan = scanTasks(places)
      return { scan, graph: makeGraph(places, scan, readState(places), options) }
    }
    return pickSurely(places, judge, (found) => take(draft, found, places, options))
  })
}

type Taking = (found: TaskText) => Task

/** The index may be wrong about a file that changed without a trace: then all files are read. */
function pickSurely(places: Places, judge: () => Judged, taking: Taking): Next {
  const first = judge()
  const isWrong = first.graph
    .ready()
    .slice(0, 1)
    .some((task) => !isReady(task, places))
  if (!isWrong) return pickNext(places, first, taking)
  forgetIndex(places)
  return pickNext(places, judge(), taking)
}

/** The first ready task that can be taken. */
function pickNext(places: Places, { scan, graph }: Judged, taking: Taking): Next {
  const broken = [...scan.broken]
  for (const { id, file } of graph.ready()) {
    try {
      const found = readOrRefuse(places.tasks, file)
      if (found.task.id !== id || found.task.status !== 'To Do') continue
      return { task: taking(found), waiting: [], broken }
    } catch (error) {
      // A file that no edit can be sure of is left to a person.
      if (!(error instanceof CannotChange || error instanceof Unusable)) throw error
      broken.push({ file, line: 1, problem: error.message })
    }
  }
  const open = graph.sorted(({ status }) => status !== 'Done')
  const waiting = open.map((each) => graph.judge(each))
  const advice = graph.advise(waiting.map(({ task }) => task))
  return { task: undefined, waiting: waiting.map(whyWaiting), broken, advice }
}

/** Whether the files themselves say so. */
function isReady({ id, file }: Task, places: Places): boolean {
  try {
    const { task } = readOrRefuse(places.tasks, file)
    if (task.id !== id || task.status !== 'To Do') return false
    return listUndone(places, task.dependencies, new Map()).length === 0
  } catch (error) {
    if (!(error instanceof Unusable)) throw error
    return false
  }
}

function whyWaiting(readiness: Readiness): Readiness {
  if (!readiness.isReady) return readiness
  return { ...readiness, isReady: false, reasons: ['its file cannot be changed'] }
}

/** Takes one task; throws where another one holds it, or where it cannot be begun yet. */
export function claimTask(places: Places, word: string, options: ClaimOptions): Task {
  const { owner, now } = options
  const result = change(places, (draft): Task | Refused => {
    draft.state = renew(draft.state, owner, now)
    freeDead(draft, places, now)
    const found = findTask(places, word)
    const claims = standing(draft.state, owner, places, now)
    return whyNot(found, claims, places) ?? take(draft, found, places, options)
  })
  if (result instanceof Refused) throw result
  return result
}

function whyNot(
  { task, path }: TaskText,
  claims: ReadonlyMap<string, Claim>,
  places: Places,
): Refused | undefined {
  const { id, status } = task
  if (dirname(path) === places.archive) {
    return new Refused(`${id} is archived.`, `Bring it back first: forge-tasks unarchive ${id}`)
  }
  const claim = claims.get(id)
  if (claim !== undefined) return takenBy(id, claim, places)
  if (status === 'Done' || status === 'Blocked') {
    return new Refused(`${id} is ${status}.`, `Open it first: forge-tasks edit ${id} --status todo`)
  }
  const graph = new Graph(places, scanTasks(places), claims)
  const waits = graph.judge({ ...task, status: 'To Do' }).reasons
  if (waits.length === 0) return undefined
  return new Refused(`${id} cannot be begun yet: it ${waits.join(', ')}.`, 'See: forge-tasks next')
}

export interface Released {
  readonly task: Task
  /** What was done, or why there was nothing to do. */
  readonly words: string
}

interface ReleaseOptions extends ClaimOptions {
  /** Told of a claim of another one that ends with it. */
  readonly onTaken?: (id: string, claim: Claim) => void
}

/** Gives a task back; whatever held it, it can be begun again. */
export function releaseTask(
  places: Places,
  word: string,
  { owner, now, onTaken }: ReleaseOptions,
): Released {
  return change(places, (draft) => {
    const found = findTask(places, word)
    const claim = draft.state.claims[found.task.id]
    if (claim !== undefined && isHeldByAnother(claim, owner, now)) onTaken?.(found.task.id, claim)
    draft.state = endClaim(draft.state, found.task.id, {
      outcome: 'released',
      now,
      ...endedBy(claim, owner.name),
    })
    const there = claim === undefined ? undefined : checkoutOf(claim, places)
    if (there !== undefined && there !== places) reopenIn(draft, there, found.task.id, now)
    return { task: reopen(draft, found, now), words: releaseWords(found.task, claim) }
  })
}

function releaseWords({ id, status }: Task, claim: Claim | undefined): string {
  if (status === 'Done') return `${id} is Done and stays so.`
  if (status === 'Blocked') {
    return `${id} is Blocked and stays so. Open it: forge-tasks edit ${id} --status todo`
  }
  const isHeld = status === 'In Progress' || claim !== undefined
  return isHeld ? `Released ${id}` : `${id} is To Do: nobody held it.`
}

function reopen(draft: Draft, { task, text, path }: TaskText, now: Date): Task {
  if (task.status !== 'In Progress') return task
  const changed = applyChanges(text, { status: 'To Do', assignee: '' }, now)
  draft.write(path, changed)
  return parseTask(changed, task.file)
}

function reopenIn(draft: Draft, there: Places, id: string, now: Date): void {
  try {
    reopen(draft, findTask(there, id), now)
  } catch (error) {
    // The task is gone there, or its file is broken.
    if (!(error instanceof UserError)) throw error
  }
}

function take(
  draft: Draft,
  { task, text, path }: TaskText,
  places: Places,
  { owner, leaseMs }: ClaimOptions,
): Task {
  // Behind the lock the clock is a later one.
  const now = new Date()
  const changed = applyChanges(text, { status: 'In Progress', assignee: owner.name }, now)
  const claim = makeClaim(owner, places, now, leaseMs)
  const { state } = draft
  draft.state = { ...state, claims: { ...state.claims, [task.id]: claim } }
  if (changed !== text) draft.write(path, changed)
  return parseTask(changed, task.file)
}
