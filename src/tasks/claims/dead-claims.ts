import { applyChanges } from '../text/changes.ts'
import { change, tryToChange, type Draft } from '../store/change.ts'
import { lookUpTask, UnreadableTask } from '../find.ts'
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

function freeClaims(draft: Draft, options: FreeOptions): void {
  for (const [id, claim] of Object.entries(draft.state.claims)) {
    const end = options.endOf(claim)
    try {
      if (end !== undefined) freeClaim(draft, id, end, options)
    } catch (error) {
      // A task whose file is broken keeps its claim until the file is fixed.
      if (!(error instanceof UnreadableTask || error instanceof CannotChange)) throw error
    }
  }
}

/** A task that its owner had already set to Done or Blocked keeps that status. */
function freeClaim(draft: Draft, id: string, end: End, { folders: here, now }: FreeOptions): void {
  const claim = draft.state.claims[id]!
  const there = checkoutOf(claim, here)
  const folders = there ?? here
  const found = lookUpTask(folders, id)
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
    const status = isLast ? 'Blocked' : 'To Do'
    const note = isLast
      ? describeFailures(failures)
      : `An attempt by ${claim.owner} ended without a result: ${end.why}`
    // In a linked worktree, the note would conflict with what another one does to the task next.
    const isNoted = isLast || folders.own === folders.shared
    const changes = { status, assignee: '', appendNotes: isNoted ? [note] : [] } as const
    draft.write(found.path, applyChanges(found.text, changes, now))
  }
  draft.state = isLast ? markSettled(ended, id, 'blocked', on) : ended
}

/** Counts back to the last time the task was Done or Blocked. */
function failuresInARow(attempts: readonly Attempt[]): Attempt[] {
  const last = attempts.findLastIndex(
    ({ outcome, isLast }) => outcome === 'done' || outcome === 'blocked' || isLast === true,
  )
  return attempts.slice(last + 1).filter(({ outcome }) => outcome === 'failed')
}

function describeFailures(failures: readonly Attempt[]): string {
  const list = failures.map(({ owner, at, why }) => `${owner} at ${at} (${why ?? 'no result'})`)
  return `Blocked after ${failures.length} attempts: ${list.join('; ')}`
}
