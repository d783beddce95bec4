import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { statOf } from '../base/files.ts'
import { takenBy } from './claims/claims.ts'
import { isHeldByAnother } from './claims/owner.ts'
import { endClaim } from './claims/settle.ts'
import { change } from './store/change.ts'
import { findTask } from './find.ts'
import { readId } from './id.ts'
import type { Asking } from './list.ts'
import type { Places } from './store/places.ts'
import { Refused } from './refused.ts'
import { scanTasks } from './store/scan.ts'
import type { Claim, State } from './store/state.ts'
import type { Task } from './task.ts'

export interface ArchiveOptions extends Asking {
  /** Also what is not done; whatever waits for it goes on waiting. */
  readonly force?: boolean
}

/** Moves tasks to the archive; what depends on them still finds them there. */
export function archiveTasks(
  places: Places,
  words: readonly string[] | 'done',
  asking: ArchiveOptions,
): string[] {
  return change(places, (draft) => {
    const holder = ({ id }: Task) => heldByAnother(draft.state.claims[id], asking)
    const tasks =
      words === 'done'
        ? scanTasks(places).tasks.filter((task) => task.status === 'Done' && !holder(task))
        : findAll(places, words)
    const open = tasks.filter(({ file }) => statOf(join(places.tasks, file)) !== undefined)
    for (const task of open) {
      const claim = holder(task)
      if (claim !== undefined) throw takenBy(task.id, claim, places)
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
function endOwnClaim(state: State, { id, status }: Task, { now }: Asking): State {
  if (state.claims[id]?.settled !== undefined) return state
  return endClaim(state, id, { outcome: status === 'Done' ? 'done' : 'released', now })
}

/** Deletes a task that nothing depends on. Its number is not given again. */
export function deleteTask(places: Places, word: string, force: boolean): string {
  return change(places, (draft) => {
    const { task, path } = findTask(places, word)
    if (!force) refuseNeeded(places, task)
    const { state } = draft
    const { [task.id]: _, ...claims } = state.claims
    const { [task.id]: _ended, ...attempts } = state.attempts
    const { prefix: own, number } = readId(task.id)!
    const numbers = { ...state.numbers, [own]: Math.max(state.numbers[own] ?? 0, number) }
    draft.state = { ...state, claims, attempts, numbers }
    draft.remove(path)
    return task.id
  })
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
