import { applyChanges } from '../text/changes.ts'
import { CannotWrite, change, type Draft } from '../store/change.ts'
import { freeDead } from './dead-claims.ts'
import { findTask, readOrRefuse, Unusable, type TaskText } from '../find.ts'
import { UserError } from '../../base/errors.ts'
import { checkoutOf } from './checkout.ts'
import { CannotChange } from '../text/frontmatter.ts'
import { makeGraph, type Asking } from '../list.ts'
import { DEFAULT_LEASE_MS, standing, whyDead } from './owner.ts'
import type { Places } from '../store/places.ts'
import { claimWords, Graph, type Readiness } from '../ready.ts'
import { Refused } from '../refused.ts'
import { scanTasks, type Broken } from '../store/scan.ts'
import { renew } from './leases.ts'
import { endClaim } from './settle.ts'
import { readState, type Claim } from '../store/state.ts'
import { parseTask, type Task } from '../task.ts'

/** Somebody else holds the task. */
class Taken extends Refused {
  override readonly exitCode = 3
}

export function takenBy(id: string, claim: Claim, places: Places): Refused {
  return new Taken(`${id} is ${claimWords(claim, places)} since ${claim.at}.`)
}

export interface ClaimOptions extends Asking {
  readonly leaseMs?: number | undefined
}

/** The first ready task, if there is one, and what holds the others up if there is none. */
export interface Next {
  readonly task: Task | undefined
  readonly waiting: readonly Readiness[]
  readonly broken: readonly Broken[]
}

/** Looks for the next task; with `claim` it is taken in the same moment, by nobody else. */
export function nextTask(places: Places, options: ClaimOptions, claim: boolean): Next {
  if (!claim) {
    tryToFree(places, options.now)
    return pickNext(places, options, (task) => task)
  }
  return change(places, (draft) => {
    draft.state = renew(draft.state, options.owner, options.now)
    freeDead(draft, places, options.now)
    return pickNext(places, options, ({ file }) => tryToTake(draft, file, places, options))
  })
}

/** A file that no edit can be sure of is left to a person. */
function tryToTake(
  draft: Draft,
  file: string,
  places: Places,
  options: ClaimOptions,
): Task | Broken {
  try {
    return take(draft, readOrRefuse(places.tasks, file), places, options)
  } catch (error) {
    if (!(error instanceof CannotChange || error instanceof Unusable)) throw error
    return { file, line: 1, problem: error.message }
  }
}

/** Whoever only looks needs no lock, and no folder that can be written. */
function tryToFree(places: Places, now: Date): void {
  const claims = Object.values(readState(places).claims)
  if (claims.every((claim) => whyDead(claim, now) === undefined)) return
  try {
    change(places, (draft) => freeDead(draft, places, now))
  } catch (error) {
    if (!(error instanceof CannotWrite)) throw error
  }
}

/** The first ready task that can be taken. */
function pickNext(places: Places, asking: Asking, taking: (task: Task) => Task | Broken): Next {
  const scan = scanTasks(places)
  const graph = makeGraph(places, scan, asking)
  const broken = [...scan.broken]
  for (const ready of graph.ready()) {
    const task = taking(ready)
    if (!('problem' in task)) return { task, waiting: [], broken }
    broken.push(task)
  }
  const open = scan.tasks.filter(({ status }) => status !== 'Done')
  const waiting = graph.sorted(open).map((each) => graph.judge(each))
  return { task: undefined, waiting: waiting.map(whyWaiting), broken }
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
    return whyNot(found.task, claims, places) ?? take(draft, found, places, options)
  })
  if (result instanceof Refused) throw result
  return result
}

function whyNot(
  task: Task,
  claims: ReadonlyMap<string, Claim>,
  places: Places,
): Refused | undefined {
  const { id, status } = task
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

/** Gives a task back; whatever held it, it can be begun again. */
export function releaseTask(places: Places, word: string, { now }: ClaimOptions): Task {
  return change(places, (draft) => {
    const found = findTask(places, word)
    const claim = draft.state.claims[found.task.id]
    draft.state = endClaim(draft.state, found.task.id, { outcome: 'released', now })
    const there = claim === undefined ? undefined : checkoutOf(claim.root, places)
    if (there !== undefined && there !== places) reopenIn(draft, there, found.task.id, now)
    return reopen(draft, found, now)
  })
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
  { owner, leaseMs = DEFAULT_LEASE_MS }: ClaimOptions,
): Task {
  // Behind the lock the clock is a later one.
  const now = new Date()
  const changed = applyChanges(text, { status: 'In Progress', assignee: owner.name }, now)
  const claim: Claim = {
    owner: owner.name,
    at: now.toISOString(),
    root: places.root,
    ...(owner.run === undefined ? {} : { run: owner.run }),
    until: new Date(now.getTime() + leaseMs).toISOString(),
    leaseMs,
  }
  const { state } = draft
  draft.state = { ...state, claims: { ...state.claims, [task.id]: claim } }
  if (changed !== text) draft.write(path, changed)
  return parseTask(changed, task.file)
}
