import { applyChanges } from '../text/changes.ts'
import { change, tryToChange, type Draft } from '../store/change.ts'
import { findTask, NotFound, Unusable, type TaskText } from '../find.ts'
import { checkoutOf } from '../store/checkouts.ts'
import { CannotChange } from '../text/frontmatter.ts'
import { isSameIteration, whyDead, type Iteration } from './owner.ts'
import { mayBeDue } from '../store/moves.ts'
import type { Places } from '../store/places.ts'
import { endClaim, markSettled } from './settle.ts'
import { hasState, type Attempt, type Claim, type State } from '../store/state.ts'

/** When so many attempts have failed one after the other, a task needs a person. */
const MOST_FAILURES = 3

/** Whoever stops a run, or cannot reach the model, does not say that the task is too hard. */
const NOT_ITS_FAULT = ['interrupted', 'overloaded', 'rate_limited', 'auth_failed', 'spawn_failed']

/** Called when an iteration of a run has ended: what it still holds was not finished. */
export function endIteration(places: Places, run: Iteration, outcome: string, now: Date): void {
  if (!hasState(places)) return
  const isOver = ({ settled, run: by }: Claim) =>
    settled === undefined && by !== undefined && isSameIteration(by, run)
  const end: End = NOT_ITS_FAULT.includes(outcome)
    ? { outcome: 'released', why: outcome.replaceAll('_', ' ') }
    : { outcome: 'failed', why: `its iteration ended (${outcome.replaceAll('_', ' ')})` }
  change(places, (draft) => {
    freeClaims(draft, { places, now, endOf: (claim) => (isOver(claim) ? end : undefined) })
  })
}

/** The same for whoever only looks; what a killed writer had begun is ended with it. */
export function tryToFreeDead(places: Places, state: State, now: Date): boolean {
  const isDead = (claim: Claim) => whyDead(claim, now) !== undefined
  if (!mayBeDue(state.moves ?? []) && !Object.values(state.claims).some(isDead)) return false
  return tryToChange(places, (draft) => freeDead(draft, places, now))
}

/** Puts back what its owner will not finish any more, so that others can begin it again. */
export function freeDead(draft: Draft, places: Places, now: Date): void {
  const endOf = (claim: Claim): End | undefined => {
    const why = whyDead(claim, now)
    return why === undefined ? undefined : { outcome: 'failed', why }
  }
  freeClaims(draft, { places, now, endOf })
  // What follows reads the files.
  draft.commit()
}

/** How a claim ends that its owner did not end. */
interface End {
  readonly outcome: 'failed' | 'released'
  readonly why: string
}

interface Round {
  /** Where the claims are looked through. */
  readonly places: Places
  readonly now: Date
  readonly endOf: (claim: Claim) => End | undefined
}

function freeClaims(draft: Draft, round: Round): void {
  for (const [id, claim] of Object.entries(draft.state.claims)) {
    const end = round.endOf(claim)
    if (end !== undefined) tryToFree(draft, id, end, round)
  }
}

/** What cannot be read or changed now keeps its claim until somebody has mended the file. */
function tryToFree(draft: Draft, id: string, end: End, round: Round): void {
  try {
    freeClaim(draft, id, end, round)
  } catch (error) {
    if (!(error instanceof Unusable || error instanceof CannotChange)) throw error
  }
}

/** A task that was finished, or blocked, in the last moment of its owner stays so. */
function freeClaim(draft: Draft, id: string, end: End, { places: here, now }: Round): void {
  const claim = draft.state.claims[id]!
  const there = checkoutOf(claim, here)
  const places = there ?? here
  const found = findOrNone(places, id)
  const on = { owner: claim.owner, places, now }
  if (found?.task.status === 'Done') {
    const ended = endClaim(draft.state, id, { outcome: 'done', now })
    draft.state = markSettled(ended, id, 'done', on)
    return
  }
  // With the checkout it is gone that the task was begun.
  const begun = there === undefined ? ['In Progress', 'To Do'] : ['In Progress']
  const isOpen = found !== undefined && begun.includes(found.task.status)
  const before = failuresInARow(draft.state.attempts[id] ?? [])
  const isLast = isOpen && end.outcome === 'failed' && before.length + 1 >= MOST_FAILURES
  const ended = endClaim(draft.state, id, { ...end, now, ...(isLast ? { isLast } : {}) })
  if (isOpen) {
    const failures = [...before, ended.attempts[id]!.at(-1)!]
    putBack(draft, found, isLast ? hopelessNote(failures) : attemptNote(claim, end), isLast, now)
  }
  draft.state = isLast ? markSettled(ended, id, 'blocked', on) : ended
}

function putBack(
  draft: Draft,
  { path, text }: TaskText,
  note: string,
  isHopeless: boolean,
  now: Date,
): void {
  const status = isHopeless ? 'Blocked' : 'To Do'
  draft.write(path, applyChanges(text, { status, assignee: '', appendNotes: [note] }, now))
}

function findOrNone(places: Places, id: string): TaskText | undefined {
  try {
    return findTask(places, id)
  } catch (error) {
    if (error instanceof NotFound && !(error instanceof Unusable)) return undefined
    throw error
  }
}

/** Those since it was done, or Blocked, the last time. */
function failuresInARow(attempts: readonly Attempt[]): Attempt[] {
  const last = attempts.findLastIndex(
    ({ outcome, isLast }) => outcome === 'done' || outcome === 'blocked' || isLast === true,
  )
  return attempts.slice(last + 1).filter(({ outcome }) => outcome === 'failed')
}

function attemptNote({ owner }: Claim, { why }: End): string {
  return `An attempt by ${owner} ended without a result: ${why}`
}

function hopelessNote(failures: readonly Attempt[]): string {
  const words = failures.map(({ owner, at, why }) => `${owner} at ${at} (${why ?? 'no result'})`)
  return `Blocked after ${failures.length} attempts: ${words.join('; ')}`
}
