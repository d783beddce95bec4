import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { statOf } from '../base/files.ts'
import { applyChanges } from './changes.ts'
import { readConfig } from './config.ts'
import { Refused } from './create.ts'
import { findTask, type TaskText } from './find.ts'
import { DEFAULT_LEASE_MS, isOwner, whyDead, type Owner } from './owner.ts'
import { findPlaces, type Places } from './places.ts'
import { claimWords, Graph, type Readiness } from './ready.ts'
import { scanTasks } from './scan.ts'
import { change, writeTask, type Attempt, type Claim, type State } from './state.ts'
import { parseTask, type Task } from './task.ts'

/** After so many failed attempts a task needs a person. */
const MOST_FAILURES = 3

/** Somebody else holds the task. */
class Taken extends Refused {
  override readonly exitCode = 3
}

export interface ClaimOptions {
  readonly owner: Owner
  readonly now: Date
  readonly leaseMs?: number | undefined
}

/** The first ready task, if there is one, and what holds the others up if there is none. */
export interface Next {
  readonly task: Task | undefined
  readonly waiting: readonly Readiness[]
}

/** Looks for the next task; with `claim` it is taken in the same moment, by nobody else. */
export function nextTask(places: Places, options: ClaimOptions, claim: boolean): Next {
  if (!claim) return pickNext(places, liveClaims(places))
  return change(places, (state, save) => {
    const freed = freeDead(renew(state, options.owner), options.now)
    const next = pickNext(places, new Map(Object.entries(freed.claims)))
    if (next.task === undefined) {
      if (freed !== state) save(freed)
      return next
    }
    const found = findTask(places, next.task.id, '')
    return { ...next, task: take(found, freed, save, places, options) }
  })
}

/** Takes one task; throws `Taken` where another one holds it. */
export function claimTask(places: Places, word: string, options: ClaimOptions): Task {
  const { prefix } = readConfig(places)
  return change(places, (state, save) => {
    const freed = freeDead(renew(state, options.owner), options.now)
    const found = findTask(places, word, prefix)
    const claim = freed.claims[found.task.id]
    if (claim !== undefined && (claim.isDone === true || !isOwner(claim, options.owner))) {
      if (freed !== state) save(freed)
      throw new Taken(`${found.task.id} is ${claimWords(claim, places)} since ${claim.at}.`)
    }
    if (found.task.status === 'Done' || found.task.status === 'Blocked') {
      throw new Refused(`${found.task.id} is ${found.task.status}.`)
    }
    return take(found, freed, save, places, options)
  })
}

/** Gives a task back; whatever held it, it can be begun again. */
export function releaseTask(places: Places, word: string, options: ClaimOptions): Task {
  const { prefix } = readConfig(places)
  return change(places, (state, save) => {
    const found = findTask(places, word, prefix)
    const claim = state.claims[found.task.id]
    save(endClaim(state, found.task.id, 'released', options.now))
    if (claim !== undefined && claim.root !== places.root)
      reopenIn(claim.root, found.task.id, options.now)
    return reopen(places, found, options.now)
  })
}

function reopen(places: Places, { task, text, path }: TaskText, now: Date): Task {
  if (task.status !== 'In Progress') return task
  const changed = applyChanges(text, { status: 'To Do', assignee: '' }, now)
  writeTask(places, path, changed)
  return parseTask(changed, task.file)
}

function reopenIn(root: string, id: string, now: Date): void {
  const places = findPlaces(root)
  try {
    reopen(places, findTask(places, id, ''), now)
  } catch {
    // That checkout, or the task in it, is gone.
  }
}

/** Called when an iteration of a run has ended: what it still holds was not finished. */
export function endIteration(
  places: Places,
  run: string,
  step: string,
  iteration: string,
  now: Date,
): void {
  if (statOf(join(places.shared, 'state.json')) === undefined) return
  change(places, (state, save) => {
    const over = (claim: Claim) =>
      claim.isDone !== true &&
      claim.run?.id === run &&
      claim.run.step === step &&
      claim.run.iteration === iteration
    const freed = free(state, now, (claim) => (over(claim) ? 'its iteration ended' : undefined))
    if (freed !== state) save(freed)
  })
}

/** The claims that hold; what is dead is left for the next change to clear away. */
export function liveClaims(places: Places, now = new Date()): Map<string, Claim> {
  const state = readClaims(places)
  return new Map(Object.entries(state).filter(([, claim]) => whyDead(claim, now) === undefined))
}

function readClaims(places: Places): State['claims'] {
  try {
    const state = JSON.parse(
      readFileSync(join(places.shared, 'state.json'), 'utf8'),
    ) as Partial<State>
    return state.claims ?? {}
  } catch {
    return {}
  }
}

function pickNext(places: Places, claims: ReadonlyMap<string, Claim>): Next {
  const { tasks } = scanTasks(places)
  const graph = new Graph(places, tasks, claims)
  const [task] = graph.ready()
  if (task !== undefined) return { task, waiting: [] }
  const open = tasks.filter(({ status }) => status !== 'Done')
  return { task: undefined, waiting: graph.sorted(open).map((each) => graph.judge(each)) }
}

function take(
  { task, text, path }: TaskText,
  state: State,
  save: (state: State) => void,
  places: Places,
  { owner, leaseMs = DEFAULT_LEASE_MS }: ClaimOptions,
): Task {
  // Behind the lock the clock is a later one.
  const now = new Date()
  const until = new Date(now.getTime() + leaseMs).toISOString()
  const claim: Claim = {
    owner: owner.name,
    at: now.toISOString(),
    root: places.root,
    ...(owner.run === undefined ? { until, leaseMs } : { run: owner.run }),
  }
  // First the claim: a crash then leaves a claim of the dead, never a task that two have.
  save({ ...state, claims: { ...state.claims, [task.id]: claim } })
  const changed = applyChanges(text, { status: 'In Progress', assignee: owner.name }, now)
  if (changed !== text) writeTask(places, path, changed)
  return parseTask(changed, task.file)
}

/** What an edit of the status means for the claim. */
export function settleClaim(
  state: State,
  task: Task,
  owner: Owner,
  places: Places,
  now: Date,
): State {
  switch (task.status) {
    case 'Done':
      return finishClaim(state, task.id, owner.name, places, now)
    case 'Blocked':
      return endClaim(state, task.id, 'blocked', now)
    case 'To Do':
      return endClaim(state, task.id, 'released', now)
    case 'In Progress':
      return state
  }
}

/** Other worktrees do not have the change yet: the task stays taken there until it is merged. */
function finishClaim(state: State, id: string, owner: string, places: Places, now: Date): State {
  const ended = endClaim(state, id, 'done', now)
  if (places.shared.startsWith(places.tasks)) return ended
  const claim: Claim = { owner, at: now.toISOString(), root: places.root, isDone: true }
  return { ...ended, claims: { ...ended.claims, [id]: claim } }
}

/** Every command of an owner outside of a run puts off the end of its claims. */
export function renew(state: State, owner: Owner): State {
  const now = Date.now()
  let claims = state.claims
  for (const [id, claim] of Object.entries(state.claims)) {
    if (claim.leaseMs === undefined || !isOwner(claim, owner)) continue
    if (whyDead(claim, new Date(now)) !== undefined) continue
    claims = { ...claims, [id]: { ...claim, until: new Date(now + claim.leaseMs).toISOString() } }
  }
  return claims === state.claims ? state : { ...state, claims }
}

function endClaim(
  state: State,
  id: string,
  outcome: Attempt['outcome'],
  now: Date,
  why?: string,
): State {
  const claim = state.claims[id]
  if (claim === undefined) return state
  const { [id]: _, ...claims } = state.claims
  // What was done is no attempt any more; opened again, it can be taken again.
  if (claim.isDone === true) return { ...state, claims }
  const attempt: Attempt = {
    owner: claim.owner,
    at: claim.at,
    ended: now.toISOString(),
    outcome,
    ...(why === undefined ? {} : { why }),
  }
  const attempts = { ...state.attempts, [id]: [...(state.attempts[id] ?? []), attempt] }
  return { ...state, claims, attempts }
}

function freeDead(state: State, now: Date): State {
  return free(state, now, (claim) => whyDead(claim, now))
}

/** Puts back what its owner will not finish; the third time it is blocked instead. */
function free(state: State, now: Date, why: (claim: Claim) => string | undefined): State {
  let next = state
  for (const [id, claim] of Object.entries(state.claims)) {
    if (isForgotten(claim, now)) next = endClaim(next, id, 'done', now)
    const reason = why(claim)
    if (reason === undefined) continue
    const home = findPlaces(claim.root)
    if (statusIn(home, id) === 'Done') {
      next = finishClaim(next, id, claim.owner, home, now)
      continue
    }
    next = endClaim(next, id, 'failed', now, reason)
    putBack(id, claim, next.attempts[id] ?? [], reason, now)
  }
  return next
}

/** After so long a finished task is merged everywhere, or its branch was given up. */
const REMEMBERED_MS = 30 * 24 * 60 * 60 * 1000

function isForgotten(claim: Claim, now: Date): boolean {
  return claim.isDone === true && Date.parse(claim.at) < now.getTime() - REMEMBERED_MS
}

function statusIn(places: Places, id: string): string | undefined {
  try {
    return findTask(places, id, '').task.status
  } catch {
    return undefined
  }
}

function putBack(
  id: string,
  claim: Claim,
  attempts: readonly Attempt[],
  why: string,
  now: Date,
): void {
  try {
    const places = findPlaces(claim.root)
    const { task, text, path } = findTask(places, id, '')
    if (task.status !== 'In Progress') return
    const failures = attempts.filter(({ outcome }) => outcome === 'failed')
    const isHopeless = failures.length >= MOST_FAILURES
    const note = isHopeless
      ? `Blocked after ${failures.length} attempts: ${failures.map(attemptWords).join('; ')}`
      : `Attempt ${attempts.length} by ${claim.owner} ended without a result: ${why}`
    const status = isHopeless ? 'Blocked' : 'To Do'
    writeTask(places, path, applyChanges(text, { status, assignee: '', appendNotes: [note] }, now))
  } catch {
    // The checkout of the claim, or the task in it, is gone: there is nothing to put back.
  }
}

function attemptWords({ owner, at, why }: Attempt): string {
  return `${owner} at ${at} (${why ?? 'no result'})`
}
