import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { statOf } from '../base/files.ts'
import { takenBy } from './claims/claims.ts'
import { isHeldByAnother } from './claims/owner.ts'
import { endClaim, endedBy } from './claims/settle.ts'
import { change } from './store/change.ts'
import { findTask, hasTask } from './find.ts'
import { readId } from './id.ts'
import type { Asking } from './list.ts'
import { checkoutOf, listCheckouts, located } from './store/checkouts.ts'
import type { Places } from './store/places.ts'
import { Refused } from './refused.ts'
import { scanTasks } from './store/scan.ts'
import type { Claim, State } from './store/state.ts'
import type { Task } from './task.ts'

export interface ShelveOptions extends Asking {
  /** Also what is not done, or what others need: whatever waits for it goes on waiting. */
  readonly force?: boolean
}

/** Moves tasks to the archive; what depends on them still finds them there. */
export function archiveTasks(
  places: Places,
  words: readonly string[] | 'done',
  asking: ShelveOptions,
): string[] {
  return change(places, (draft) => {
    const { claims } = draft.state
    const holder = ({ id }: Task) => heldByAnother(claims[id], asking)
    const tasks =
      words === 'done'
        ? scanTasks(places).tasks.filter((task) => task.status === 'Done' && !holder(task))
        : findAll(places, words)
    const open = tasks.filter(({ file }) => statOf(join(places.tasks, file)) !== undefined)
    for (const task of open) {
      refuseHeld(task.id, holder(task), places)
      if (asking.force !== true) refuseOpen(task)
      refuseSecond(places, task)
    }
    mkdirSync(places.archive, { recursive: true })
    for (const { file } of open) draft.move(join(places.tasks, file), join(places.archive, file))
    draft.state = open.reduce((state, task) => endOwnClaim(state, task, asking), draft.state)
    return open.map(({ id }) => id)
  })
}

function findAll(places: Places, words: readonly string[]): Task[] {
  const tasks = words.map((word) => findTask(places, word).task)
  return [...new Map(tasks.map((task) => [task.id, task])).values()]
}

function heldByAnother(claim: Claim | undefined, { owner, now }: Asking): Claim | undefined {
  return claim !== undefined && isHeldByAnother(claim, owner, now) ? claim : undefined
}

function refuseHeld(id: string, claim: Claim | undefined, places: Places): void {
  if (claim === undefined) return
  throw takenBy(id, located(claim, checkoutOf(claim, places)), places)
}

function refuseOpen({ id, status }: Task): void {
  if (status === 'Done') return
  throw new Refused(
    `${id} is ${status}.`,
    'Finish it first, or archive it nevertheless with --force.',
  )
}

function refuseSecond(places: Places, { file, id }: Task): void {
  if (statOf(join(places.archive, file)) === undefined) return
  throw new Refused(
    `The archive has a file "${file}" already, so ${id} stays.`,
    'Rename one of the two.',
  )
}

/** What was settled stays: other worktrees do not have it yet. */
function endOwnClaim(state: State, { id, status }: Task, { owner, now }: Asking): State {
  const claim = state.claims[id]
  if (claim?.settled !== undefined) return state
  const outcome = status === 'Done' ? 'done' : 'released'
  return endClaim(state, id, { outcome, now, ...endedBy(claim, owner.name) })
}

/** Deletes a task that nothing depends on. Its number is not given again. */
export function deleteTask(places: Places, word: string, asking: ShelveOptions): string {
  return change(places, (draft) => {
    const { task, path } = findTask(places, word)
    refuseHeld(task.id, heldByAnother(draft.state.claims[task.id], asking), places)
    if (asking.force !== true) refuseNeeded(places, task)
    const ended = withNumber(endOwnClaim(draft.state, task, asking), task)
    draft.state = isElsewhere(ended, task, places) ? ended : withoutTask(ended, task)
    draft.remove(path)
    return task.id
  })
}

function withNumber(state: State, { id }: Task): State {
  const { prefix: own, number } = readId(id)!
  const numbers = { ...state.numbers, [own]: Math.max(state.numbers[own] ?? 0, number) }
  return { ...state, numbers }
}

/** Another checkout has it until the deletion is merged there, and needs what is known of it. */
function isElsewhere(state: State, { id }: Task, here: Places): boolean {
  return listCheckouts(state, here).some((there) => there !== here && hasTask(there, id))
}

function withoutTask(state: State, { id }: Task): State {
  const { [id]: _, ...claims } = state.claims
  const { [id]: _ended, ...attempts } = state.attempts
  return { ...state, claims, attempts }
}

function refuseNeeded(places: Places, { id }: Task): void {
  const { tasks } = scanTasks(places)
  const idsOf = (others: readonly Task[]) => others.map((each) => each.id).join(', ')
  const waiting = tasks.filter((each) => each.dependencies.includes(id))
  if (waiting.length > 0) {
    throw new Refused(
      `${id} is waited for by ${idsOf(waiting)}.`,
      'Remove the dependency first, or use --force.',
    )
  }
  const parts = tasks.filter((each) => each.parent === id)
  if (parts.length > 0) {
    throw new Refused(
      `${id} has the parts ${idsOf(parts)}.`,
      'Remove the reference first, or use --force.',
    )
  }
}
