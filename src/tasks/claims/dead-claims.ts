import { applyChanges } from '../text/changes.ts'
import { change, tryToChange, type Draft } from '../store/change.ts'
import { findOrNone, Unusable, type TaskText } from '../find.ts'
import { checkoutOf } from '../store/checkouts.ts'
import { CannotChange } from '../text/frontmatter.ts'
import { isSameIteration, whyDead, type Iteration } from './owner.ts'
import type { TaskFolders } from '../folders.ts'
import { endClaim, markSettled } from './claim-changes.ts'
import { hasState, readLocalState } from '../store/state.ts'
import type { Attempt, Claim } from '../store/state-shape.ts'

/** After this many failures in a row, a person has to look at the task. */
const MAX_FAILURES = 3

/** Outcomes that say nothing about the task itself. */
const NOT_A_FAILURE = ['interrupted', 'overloaded', 'rate_limited', 'auth_failed', 'spawn_failed']

/** Frees the tasks that an ended iteration still holds. */
export function endIteration(
  folders: TaskFolders,
  run: Iteration,
  outcome: string,
  now: Date,
): void {
  if (!hasState(folders)) return
  const isOver = ({ settled, run: by }: Claim) =>
    settled === undefined && by !== undefined && isSameIteration(by, run)
  const end: End = NOT_A_FAILURE.includes(outcome)
    ? { outcome: 'released', why: outcome.replaceAll('_', ' ') }
    : { outcome: 'failed', why: `its iteration ended (${outcome.replaceAll('_', ' ')})` }
  change(folders, (draft) => {
    freeClaims(draft, { folders, now, endOf: (claim) => (isOver(claim) ? end : undefined) })
  })
}

/** For commands that only read: never waits for the lock. Also completes the change of a killed writer. */
export function tryToFreeDeadClaims(folders: TaskFolders, now: Date): void {
  const { claims, moves = [] } = readLocalState(folders)
  const isDead = (claim: Claim) => whyDead(claim, now) !== undefined
  if (moves.length > 0 || Object.values(claims).some(isDead))
    tryToChange(folders, (draft) => freeDeadClaims(draft, folders, now))
}

/** Sets the tasks of dead owners back to To Do. */
export function freeDeadClaims(draft: Draft, folders: TaskFolders, now: Date): void {
  const endOf = (claim: Claim): End | undefined => {
    const why = whyDead(claim, now)
    return why === undefined ? undefined : { outcome: 'failed', why }
  }
  freeClaims(draft, { folders, now, endOf })
  // The caller reads the files next.
  draft.commit()
}

/** How a claim ends if its owner did not end it. */
interface End {
  readonly outcome: 'failed' | 'released'
  readonly why: string
}

interface FreeOptions {
  readonly folders: TaskFolders
  readonly now: Date
  readonly endOf: (claim: Claim) => End | undefined
}

function freeClaims(draft: Draft, round: FreeOptions): void {
  for (const [id, claim] of Object.entries(draft.state.claims)) {
    const end = round.endOf(claim)
    if (end !== undefined) tryToFree(draft, id, end, round)
  }
}

/** A task whose file is broken keeps its claim until the file is fixed. */
function tryToFree(draft: Draft, id: string, end: End, round: FreeOptions): void {
  try {
    freeClaim(draft, id, end, round)
  } catch (error) {
    if (!(error instanceof Unusable || error instanceof CannotChange)) throw error
  }
}

/** A task that its owner had already set to Done or Blocked keeps that status. */
function freeClaim(draft: Draft, id: string, end: End, { folders: here, now }: FreeOptions): void {
  const claim = draft.state.claims[id]!
  const there = checkoutOf(claim, here)
  const folders = there ?? here
  const found = findOrNone(folders, id)
  const on = { owner: claim.owner, folders, now }
  if (found?.task.status === 'Done') {
    const ended = endClaim(draft.state, id, { outcome: 'done', now })
    draft.state = markSettled(ended, id, 'done', on)
    return
  }
  // If the checkout was removed, the file here may still say To Do.
  const begun = there === undefined ? ['In Progress', 'To Do'] : ['In Progress']
  const isOpen = found !== undefined && begun.includes(found.task.status)
  const before = failuresInARow(draft.state.attempts[id] ?? [])
  const isLast = isOpen && end.outcome === 'failed' && before.length + 1 >= MAX_FAILURES
  const ended = endClaim(draft.state, id, { ...end, now, ...(isLast ? { isLast } : {}) })
  if (isOpen) {
    const failures = [...before, ended.attempts[id]!.at(-1)!]
    putBack(draft, found, isLast ? blockedNote(failures) : attemptNote(claim, end), isLast, now)
  }
  draft.state = isLast ? markSettled(ended, id, 'blocked', on) : ended
}

function putBack(
  draft: Draft,
  { path, text }: TaskText,
  note: string,
  isLast: boolean,
  now: Date,
): void {
  const status = isLast ? 'Blocked' : 'To Do'
  draft.write(path, applyChanges(text, { status, assignee: '', appendNotes: [note] }, now))
}

/** Counts back to the last time the task was Done or Blocked. */
function failuresInARow(attempts: readonly Attempt[]): Attempt[] {
  const last = attempts.findLastIndex(
    ({ outcome, isLast }) => outcome === 'done' || outcome === 'blocked' || isLast === true,
  )
  return attempts.slice(last + 1).filter(({ outcome }) => outcome === 'failed')
}

function attemptNote({ owner }: Claim, { why }: End): string {
  return `An attempt by ${owner} ended without a result: ${why}`
}

function blockedNote(failures: readonly Attempt[]): string {
  const words = failures.map(({ owner, at, why }) => `${owner} at ${at} (${why ?? 'no result'})`)
  return `Blocked after ${failures.length} attempts: ${words.join('; ')}`
}
