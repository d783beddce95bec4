import { applyChanges } from '../text/changes.ts'
import { change, type Draft } from '../store/change.ts'
import { findTask, type TaskText } from '../find.ts'
import { whyDead } from './owner.ts'
import { findPlaces, type Places } from '../store/places.ts'
import { endClaim, markSettled } from './settle.ts'
import { statePath, type Attempt, type Claim } from '../store/state.ts'
import { statOf } from '../../base/files.ts'

/** Each time so many attempts have failed, a task needs a person. */
const MOST_FAILURES = 3

/** After so long what was settled is merged everywhere, or its branch was given up. */
const REMEMBERED_MS = 30 * 24 * 60 * 60 * 1000

/** Called when an iteration of a run has ended: what it still holds was not finished. */
export function endIteration(
  places: Places,
  run: string,
  step: string,
  iteration: string,
  now: Date,
): void {
  if (statOf(statePath(places)) === undefined) return
  const isOver = ({ settled, run: by }: Claim) =>
    settled === undefined && by?.id === run && by.step === step && by.iteration === iteration
  change(places, (draft) => {
    freeClaims(draft, now, (claim) => (isOver(claim) ? 'its iteration ended' : undefined))
  })
}

/** Puts back what its owner will not finish any more, so that others can begin it again. */
export function freeDead(draft: Draft, now: Date): void {
  freeClaims(draft, now, (claim) => whyDead(claim, now))
  // What follows reads the files.
  draft.commit()
}

function freeClaims(draft: Draft, now: Date, whyOver: (claim: Claim) => string | undefined): void {
  for (const [id, claim] of Object.entries(draft.state.claims)) {
    if (isForgotten(claim, now)) {
      draft.state = endClaim(draft.state, id, { outcome: 'done', now })
      continue
    }
    const why = whyOver(claim)
    if (why !== undefined) freeClaim(draft, id, claim, why, now)
  }
}

function isForgotten({ settled, at }: Claim, now: Date): boolean {
  return settled !== undefined && Date.parse(at) < now.getTime() - REMEMBERED_MS
}

/** A task that was finished, or blocked, in the last moment of its owner stays so. */
function freeClaim(draft: Draft, id: string, claim: Claim, why: string, now: Date): void {
  const places = findPlaces(claim.root)
  const found = tryFind(places, id)
  const on = { owner: claim.owner, places, now }
  if (found?.task.status === 'Done') {
    const ended = endClaim(draft.state, id, { outcome: 'done', now })
    draft.state = markSettled(ended, id, 'done', on)
    return
  }
  draft.state = endClaim(draft.state, id, { outcome: 'failed', now, why })
  if (found?.task.status !== 'In Progress') return
  const failures = failuresSinceDone(draft.state.attempts[id] ?? [])
  const isHopeless = failures.length % MOST_FAILURES === 0
  if (isHopeless) draft.state = markSettled(draft.state, id, 'blocked', on)
  putBack(
    draft,
    found,
    isHopeless ? hopelessNote(failures) : failureNote(claim, why),
    isHopeless,
    now,
  )
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

/** Nothing, where the checkout of the claim, or the task in it, is gone or broken. */
function tryFind(places: Places, id: string): TaskText | undefined {
  try {
    return findTask(places, id, '')
  } catch {
    return undefined
  }
}

function failuresSinceDone(attempts: readonly Attempt[]): Attempt[] {
  const done = attempts.findLastIndex(({ outcome }) => outcome === 'done')
  return attempts.slice(done + 1).filter(({ outcome }) => outcome === 'failed')
}

function failureNote({ owner }: Claim, why: string): string {
  return `An attempt by ${owner} ended without a result: ${why}`
}

function hopelessNote(failures: readonly Attempt[]): string {
  const words = failures.map(({ owner, at, why }) => `${owner} at ${at} (${why ?? 'no result'})`)
  return `Blocked after ${failures.length} attempts: ${words.join('; ')}`
}
